package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// SchedulerOptions of one kube-scheduler.
type SchedulerOptions struct {
	Config SchedulerConfig
	Stock  bool     // kube-scheduler as it is; else the one with Headroom in it
	Args   []string // more flags, as --v=4
	// Processors, where > 0, is its GOMAXPROCS.
	Processors int
}

// Scheduler is a running kube-scheduler.
type Scheduler struct {
	*Process
	URL string // https://127.0.0.1:PORT: /readyz, /metrics
}

// StartScheduler starts one and waits until it is ready: its informers are synced. One that waits to be
// leader is ready too.
func (l *Lab) StartScheduler(ctx context.Context, plane *ControlPlane, options SchedulerOptions) (*Scheduler, error) {
	path, args := l.Binaries.Scheduler, []string(nil)
	if options.Stock {
		path, args = l.Binaries.ControlPlane, []string{"scheduler"}
	} else if err := l.Binaries.HasHeadroom(); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	directory, name, err := l.directory("scheduler")
	if err != nil {
		return nil, err
	}
	text, err := options.Config.Text(plane.Kubeconfig)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(directory, "scheduler.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	scheduler := &Scheduler{URL: fmt.Sprintf("https://127.0.0.1:%d", port)}
	args = append(args, "--config="+file, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--cert-dir="+filepath.Join(directory, "certificates"),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics")
	scheduler.Process = newProcess(directory, name, path, append(args, options.Args...),
		func(ctx context.Context) error { return answersOK(ctx, insecureClient, scheduler.URL+"/readyz", "") })
	if options.Processors > 0 {
		scheduler.Process.environment = []string{"GOMAXPROCS=" + strconv.Itoa(options.Processors)}
	}
	l.own(scheduler.Process)
	return scheduler, scheduler.Start(ctx)
}

// MetricsText is what /metrics says.
func (s *Scheduler) MetricsText(ctx context.Context) (string, error) {
	return get(ctx, insecureClient, s.URL+"/metrics", "")
}
