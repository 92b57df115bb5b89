package lab

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// HeadroomdOptions of one headroomd.
type HeadroomdOptions struct {
	// Profile is the YAML text of its KubeSchedulerConfiguration and HeadroomConfiguration (as
	// EngineProfile writes it); empty: the standard profile.
	Profile string
	Args    []string // more flags
}

// Headroomd is a running headroomd.
type Headroomd struct {
	*Process
	Address string // unix:///...: HeadroomArgs.address
	Metrics string // http://127.0.0.1:PORT

	profile string
}

// StartHeadroomd starts one and waits until its socket answers.
func (l *Lab) StartHeadroomd(ctx context.Context, options HeadroomdOptions) (*Headroomd, error) {
	if err := l.Binaries.HasHeadroom(); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	directory, name, err := l.directory("headroomd")
	if err != nil {
		return nil, err
	}
	daemon := &Headroomd{
		Address: "unix://" + filepath.Join(directory, "headroom.sock"),
		Metrics: fmt.Sprintf("http://127.0.0.1:%d", port),
		profile: filepath.Join(directory, "profile.yaml"),
	}
	args := []string{"--listen", daemon.Address, "--metrics", fmt.Sprintf("127.0.0.1:%d", port)}
	if options.Profile != "" {
		if err := daemon.SetProfile(options.Profile); err != nil {
			return nil, err
		}
		args = append(args, "--profile", daemon.profile)
	}
	daemon.Process = newProcess(directory, name, l.Binaries.Headroomd, append(args, options.Args...),
		func(ctx context.Context) error {
			return answersOK(ctx, http.DefaultClient, daemon.Metrics+"/healthz", "")
		})
	l.own(daemon.Process)
	return daemon, daemon.Start(ctx)
}

// SetProfile writes the profile that the next start, or SIGHUP, reads.
func (d *Headroomd) SetProfile(text string) error {
	return os.WriteFile(d.profile, []byte(text), 0o600)
}

// Ready is nil when it has been fed and decides.
func (d *Headroomd) Ready(ctx context.Context) error {
	return answersOK(ctx, http.DefaultClient, d.Metrics+"/readyz", "")
}

// MetricsText is what /metrics says.
func (d *Headroomd) MetricsText(ctx context.Context) (string, error) {
	return get(ctx, http.DefaultClient, d.Metrics+"/metrics", "")
}

// Forget ends it and drops its log: a test's own daemon in a lab that others go on using.
func (l *Lab) Forget(processes ...*Process) {
	for _, p := range processes {
		if p != nil {
			l.forget(p)
		}
	}
}
