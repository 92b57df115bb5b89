// Package integration tries Headroom for real: etcd, kube-apiserver, headroomd and our kube-scheduler as
// processes, nodes without kubelets. One control plane serves all tests, one after the other; each has its
// own headroomd and scheduler and begins with an empty cluster.
//
//	HEADROOM_LAB_BIN=... HEADROOMD=... go test ./integration -v
//
// HEADROOM_LONG=1 runs the large ones in full. HEADROOM_SEED=N repeats what a random one drew.
// HEADROOM_LAB_KEEP=1 leaves logs behind. Where the programs are not built, tests skip and say how to build
// them.
package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"headroom.dev/shim/lab"
)

const (
	longVariable = "HEADROOM_LONG"
	seedVariable = "HEADROOM_SEED"
	defaultSeed  = 20260101
)

// What all tests share, or why they cannot run.
var (
	world        *lab.Lab
	plane        *lab.ControlPlane
	worldMissing error
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	world, err = lab.New()
	if errors.Is(err, lab.ErrMissing) {
		worldMissing = err
		return m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer world.Close()
	if plane, err = world.StartControlPlane(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func long() bool { return os.Getenv(longVariable) != "" }

// seed of a random test: the same in every short run, another one in each long one.
func seed(t *testing.T) uint64 {
	t.Helper()
	chosen := uint64(defaultSeed)
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if chosen, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	} else if long() {
		chosen = uint64(time.Now().UnixNano())
	}
	t.Logf("%s=%d", seedVariable, chosen)
	return chosen
}
