package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"headroom.dev/shim/lab"
)

// The workloads of upstream's scheduler_perf that are run: at 500 nodes and at 5,000, and with -full those at 5,000
// that upstream holds to a floor.
var perfWorkloads = []struct {
	topic, test string
	usual       []string
	full        string
}{
	{"misc", "SchedulingBasic", []string{"500Nodes", "5000Nodes"}, "5000Nodes_50000Pods"},
	{"topology_spreading", "DefaultTopologySpreading", []string{"500Nodes", "5000Nodes_10000Pods"}, "5000Nodes_50000Pods"},
	{"topology_spreading", "TopologySpreading", []string{"500Nodes", "5000Nodes"}, "5000Nodes_5000Pods"},
	{"affinity", "SchedulingPodAffinity", []string{"500Nodes", "5000Nodes"}, "5000Nodes_5000Pods"},
	{"affinity", "SchedulingPreferredPodAffinity", []string{"500Nodes", "5000Nodes"}, "5000Nodes_5000Pods"},
	{"affinity", "SchedulingRequiredPodAntiAffinityWithNSSelector", []string{"500Nodes", "5000Nodes"}, "5000Nodes_2000Pods"},
	{"default_preemption", "Unschedulable", []string{"500Nodes/10Init/1kPods", "5kNodes/100Init/1kPods"}, "5kNodes/20kInit/10kPods"},
	{"default_preemption", "PreemptionAsync", []string{"500Nodes", "5000Nodes_AsyncAPICallsEnabled"}, "5000Nodes_AsyncAPICallsEnabled"},
}

type perfChoice struct{ topic, test, name string }

// chosenPerfWorkloads: those of the sizes that are asked for, and that -match finds.
func chosenPerfWorkloads(o options) (chosen []perfChoice) {
	for _, of := range perfWorkloads {
		names := of.usual
		if o.full {
			names = []string{of.full}
		}
		for _, name := range names {
			if o.match.MatchString(of.test + "/" + name) {
				chosen = append(chosen, perfChoice{of.topic, of.test, name})
			}
		}
	}
	return chosen
}

// schedulerPerf: Kubernetes' own benchmark, stock kube-scheduler and Headroom in turns.
func schedulerPerf(ctx context.Context, o options) (t *table, err error) {
	t = &table{Name: "scheduler_perf", What: fmt.Sprintf("Kubernetes' own test/integration/scheduler_perf: etcd, and API "+
		"server, scheduler and clients in one process; stock's profile and deploy/chart's in turns, medians of %d runs. "+
		"Pods a second are those measured, from the first request to create one to the last binding; sampled, its own "+
		"SchedulingThroughput. CPU is ms a measured pod while they are scheduled: of samples with the "+
		"scheduler's or the plugin's code on the stack, of headroomd, and of that whole process and headroomd together",
		o.rounds),
		Columns: []string{"workload", "nodes", "pods", "stock pods/s", "Headroom pods/s", "times stock", "stock CPU",
			"Headroom CPU", "headroomd CPU", "stock CPU in all", "Headroom CPU in all", "cycles left to stock",
			"stock sampled", "Headroom sampled"}}
	chosen := chosenPerfWorkloads(o)
	if len(chosen) == 0 {
		return t, fmt.Errorf("-match %q finds no workload; -full %t", o.match, o.full)
	}
	l, err := lab.New()
	if err != nil {
		return t, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, l.Logs())
		}
		err = errors.Join(err, l.Close())
	}()
	// Of what is measured: both change while it runs.
	head, commit := newHeader(o.seed), lab.Commit()
	bench, err := newPerfBench(ctx, l)
	if err != nil {
		return t, err
	}
	for _, of := range chosen {
		w, err := bench.upstream(of.topic, of.test, of.name)
		if err != nil {
			return t, err
		}
		if err := bench.row(ctx, o, w, t); err != nil {
			return t, fmt.Errorf("%s/%s: %w", of.test, of.name, err)
		}
	}
	if o.page == "" {
		return t, nil
	}
	return t, lab.IntoPage(o.page, perfTableBegins, perfTableEnds, fmt.Sprintf("\nCommit %s; %v; medians of %d runs:\n\n%s\n",
		commit, head, o.rounds, t.markdown()))
}

// The lines of a page between which the table stands.
const (
	perfTableBegins = "<!-- scheduler_perf begins -->\n"
	perfTableEnds   = "<!-- scheduler_perf ends -->\n"
)

// row runs the workload with each scheduler so many times, in turns.
func (b *perfBench) row(ctx context.Context, o options, w *perfWorkload, t *table) error {
	var stock, headroom []perfResult
	for range o.rounds {
		for _, side := range []struct {
			results  *[]perfResult
			headroom bool
		}{{&stock, false}, {&headroom, true}} {
			result, err := b.run(ctx, w, side.headroom)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "%s/%s, Headroom %t: %+v\n", w.test, w.name, side.headroom, result)
			*side.results = append(*side.results, result)
		}
	}
	pods := func(r perfResult) float64 { return r.podsPerSecond }
	sampled := func(r perfResult) float64 { return r.sampled }
	scheduler := func(r perfResult) float64 { return r.schedulerCPU }
	all := func(r perfResult) float64 { return r.processCPU + r.headroomdCPU }
	left := func(r perfResult) float64 { return float64(r.left) }
	t.add(w.test+"/"+w.name, w.nodes, w.pods, median(stock, pods), median(headroom, pods),
		median(headroom, pods)/median(stock, pods), median(stock, scheduler), median(headroom, scheduler),
		median(headroom, func(r perfResult) float64 { return r.headroomdCPU }), median(stock, all), median(headroom, all),
		median(headroom, left), throughput(median(stock, sampled)), throughput(median(headroom, sampled)))
	return nil
}

func median(results []perfResult, of func(perfResult) float64) float64 {
	values := make([]float64, len(results))
	for i, result := range results {
		values[i] = of(result)
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// Upstream samples each second and drops the first sample: it tells nothing of what was over by then.
func throughput(sampled float64) string {
	if sampled == 0 {
		return "too short"
	}
	return figure(sampled)
}

// perfBench is a program with upstream's benchmark and the plugin, and what it needs around it. Not safe for
// concurrent use.
type perfBench struct {
	lab     *lab.Lab
	chart   lab.Chart
	program string
	modules string // GOMODCACHE
	sources string // of upstream's package
	path    string // a directory with the program etcd
	runs    int
}

func newPerfBench(ctx context.Context, l *lab.Lab) (*perfBench, error) {
	if err := l.Binaries.HasHeadroom(); err != nil {
		return nil, err
	}
	b := &perfBench{lab: l, program: filepath.Join(l.Directory, "scheduler_perf.test"), path: filepath.Join(l.Directory, "path")}
	var err error
	// Upstream's pods name no scheduler.
	if b.chart, err = l.Binaries.RenderChart("schedulerNames={default-scheduler}"); err != nil {
		return nil, err
	}
	if b.modules, err = goSays(ctx, "env", "GOMODCACHE"); err != nil {
		return nil, err
	}
	kubernetes, err := goSays(ctx, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	b.sources = filepath.Join(kubernetes, "test/integration/scheduler_perf")
	if _, err := goSays(ctx, "test", "-c", "-o", b.program, "headroom.dev/shim/scheduler_perf"); err != nil {
		return nil, err
	}
	// Upstream looks for etcd in PATH; here it is a part of a program.
	if err := os.Mkdir(b.path, 0o700); err != nil {
		return nil, err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' etcd \"$@\"\n", l.Binaries.ControlPlane)
	return b, os.WriteFile(filepath.Join(b.path, "etcd"), []byte(script), 0o700)
}
