package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Where the programs are, by environment variables.
const (
	// BinVariable names the directory of controlplane and kube-scheduler-headroom.
	BinVariable = "HEADROOM_LAB_BIN"
	// HeadroomdVariable names headroomd.
	HeadroomdVariable = "HEADROOMD"

	defaultBin       = "build/go/bin"
	defaultHeadroomd = "build/release/bin/headroomd"
)

// ErrMissing is a program that is not built; the error that wraps it says how to.
var ErrMissing = errors.New("lab: not built")

// Binaries are the programs that a lab runs.
type Binaries struct {
	ControlPlane string // etcd, kube-apiserver, stock kube-scheduler: shim/lab/controlplane
	// Absent until they are needed; StartScheduler and StartHeadroomd say so.
	Scheduler string // kube-scheduler with Headroom: shim/cmd/kube-scheduler-headroom
	Headroomd string
}

// FindBinaries looks where the environment says, else where the repository's own build puts them. Only
// the control plane must be there.
func FindBinaries() (Binaries, error) {
	root := repositoryRoot()
	bin := os.Getenv(BinVariable)
	if bin == "" {
		bin = filepath.Join(root, defaultBin)
	}
	headroomd := os.Getenv(HeadroomdVariable)
	if headroomd == "" {
		headroomd = filepath.Join(root, defaultHeadroomd)
	}
	found := Binaries{
		ControlPlane: filepath.Join(bin, "controlplane"),
		Scheduler:    filepath.Join(bin, "kube-scheduler-headroom"),
		Headroomd:    headroomd,
	}
	return found, executable(found.ControlPlane, buildGo("./lab/controlplane"))
}

// HasHeadroom is nil where the scheduler with Headroom and headroomd are built.
func (b Binaries) HasHeadroom() error {
	return errors.Join(
		executable(b.Scheduler, buildGo("./cmd/kube-scheduler-headroom")),
		executable(b.Headroomd, "cmake --preset release && ninja -C build/release headroomd, or set "+
			HeadroomdVariable))
}

func buildGo(what string) string {
	return "cd shim && go build -trimpath -o ../" + defaultBin + "/ " + what + ", or set " + BinVariable
}

func executable(path, build string) error {
	stat, err := os.Stat(path)
	if err == nil && stat.Mode().IsRegular() && stat.Mode()&0o111 != 0 {
		return nil
	}
	return fmt.Errorf("%w: %s. Build it: %s", ErrMissing, path, build)
}

// repositoryRoot is the directory above that of the module's go.mod, seen from where the test or
// program runs.
func repositoryRoot() string {
	directory, err := os.Getwd()
	if err != nil {
		return "."
	}
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Dir(at)
		}
		if at == filepath.Dir(at) {
			return directory
		}
	}
}
