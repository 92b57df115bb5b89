package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/plugin"
)

// rowSpec is one row: a scheduler, a cluster, and pods.
type rowSpec struct {
	Variant string
	Nodes   int
	PerNode int // pods that run there already
	Pods    int // that are measured at most
	Seconds float64
	WarmUp  int // pods before those
	Shapes  int // of pods; 1: all are identical
	Seed    uint64
	// Judged: every decision is weighed by judges (regret.go), and the times mean nothing.
	Judged bool
	// Checked: those of the warm-up are, by the engine's own rules, and must be the best.
	Checked bool
	Profile string // a file for the processor profile of this process; empty: none
}

// rowResult has times in milliseconds.
type rowResult struct {
	Pods                       int     // measured
	Mean, P50, P99             float64 // of one cycle
	Evaluate                   float64 // of it, the question to headroomd
	SchedulerCPU, HeadroomdCPU float64 // a pod
	Others                     float64 // percent of the machine that other processes took meanwhile
	BatchHits                  int     // cycles that took a node from the batch of an earlier one
	Regrets                    []regretResult
}

type regretResult struct {
	Judge            string
	Mean, Most, Best float64 // of the pods on feasible nodes: loss, largest loss, mean of the best totals
	Infeasible, Pods int
}

// measure one row, in this process.
func measure(ctx context.Context, spec rowSpec) (result rowResult, err error) {
	v, err := findVariant(spec.Variant)
	if err != nil {
		return result, err
	}
	l, err := lab.New()
	if err != nil {
		return result, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, l.Logs())
		}
		err = errors.Join(err, l.Close())
	}()
	before, err := readCounters()
	if err != nil {
		return result, err
	}
	c := newCluster(spec.Seed, spec.Nodes, spec.PerNode)
	pods := newPods(spec.Seed, spec.WarmUp+spec.Pods, spec.Shapes)
	h, err := newHarness(ctx, l, v, c, pods)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, h.close(l)) }()
	judges, err := spec.judges(ctx, l, v, c)
	if err != nil {
		return result, err
	}
	defer func() {
		for _, j := range judges {
			err = errors.Join(err, j.close(l))
		}
	}()
	h.decided = func(ctx context.Context, pod *v1.Pod, node string) error {
		for _, j := range judges {
			if err := j.weigh(ctx, pod, node); err != nil {
				return err
			}
		}
		return nil
	}
	for range spec.WarmUp {
		h.cycle(ctx)
	}
	if err := h.settle(ctx, spec.WarmUp); err != nil {
		return result, err
	}
	if !spec.Judged {
		if err := mustBeBest(judges); err != nil {
			return result, err
		}
		h.decided = nil
	}
	if err := h.measure(ctx, spec, &result); err != nil {
		return result, err
	}
	after, err := readCounters()
	if err != nil {
		return result, err
	}
	done := pods[:spec.WarmUp+result.Pods]
	if took := after.headroom - before.headroom; took != v.part(len(done)) {
		return result, fmt.Errorf("%s took part in %d of %d cycles of %s", plugin.Name, took, len(done), v.name)
	}
	for _, j := range judges {
		result.Regrets = append(result.Regrets, j.regret.result(j.name))
	}
	result.BatchHits = after.batched - before.batched
	if asked := after.evaluates - before.evaluates; asked > 0 {
		result.Evaluate = 1000 * (after.evaluateSeconds - before.evaluateSeconds) / float64(asked)
	}
	return result, checkRoom(c, done, h.bound)
}

// measure cycles until there are no pods left, or the time is over.
func (h *harness) measure(ctx context.Context, spec rowSpec, result *rowResult) error {
	runtime.GC()
	stopProfile, err := profileTo(spec.Profile)
	if err != nil {
		return err
	}
	times := make([]time.Duration, 0, spec.Pods)
	schedulerBefore, daemonBefore, err := h.processorTimes()
	if err != nil {
		return err
	}
	spentBefore, allBefore, err := busy()
	if err != nil {
		return err
	}
	begin, atMost := time.Now(), time.Duration(spec.Seconds*float64(time.Second))
	for len(times) < spec.Pods && (atMost == 0 || time.Since(begin) < atMost) {
		times = append(times, h.cycle(ctx))
	}
	if err := h.settle(ctx, spec.WarmUp+len(times)); err != nil {
		return err
	}
	schedulerAfter, daemonAfter, err := h.processorTimes()
	if err != nil {
		return err
	}
	spent, all, err := busy()
	if err != nil {
		return err
	}
	stopProfile()
	others := spent - spentBefore - (schedulerAfter - schedulerBefore) - (daemonAfter - daemonBefore)
	result.Others = max(0, 100*float64(others)/float64(max(1, all-allBefore)))
	pods := float64(len(times))
	result.Pods = len(times)
	result.SchedulerCPU = milliseconds(schedulerAfter-schedulerBefore) / pods
	result.HeadroomdCPU = milliseconds(daemonAfter-daemonBefore) / pods
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	slices.Sort(times)
	result.Mean = milliseconds(sum) / pods
	result.P50, result.P99 = milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.99))
	return nil
}

// processorTimes that this process and headroomd have used.
func (h *harness) processorTimes() (scheduler, daemon time.Duration, err error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, 0, err
	}
	scheduler = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if h.daemon != nil {
		used, err := h.daemon.Usage()
		return scheduler, used.CPU, err
	}
	return scheduler, 0, nil
}

// judges of the row: the one whose rules must be kept, or those of `regret`.
func (s rowSpec) judges(ctx context.Context, l *lab.Lab, v variant, c *cluster) ([]*judge, error) {
	var judges []*judge
	add := func(name string, scores []lab.Plugin) error {
		j, err := newJudge(ctx, l, name, scores, c)
		if j != nil {
			judges = append(judges, j)
		}
		return err
	}
	switch {
	case s.Judged:
		return judges, errors.Join(add("the standard profile", nil), add("Fit alone", fitAlone))
	case s.Checked && v.topK > 0:
		return judges, add("the engine", v.engine)
	}
	return nil, nil
}

func mustBeBest(judges []*judge) error {
	for _, j := range judges {
		if j.regret.lost != 0 || j.regret.infeasible != 0 {
			return fmt.Errorf("%d pods: %d on infeasible nodes, %d points below the best", j.regret.pods,
				j.regret.infeasible, j.regret.lost)
		}
	}
	return nil
}

func (r regretSum) result(judge string) regretResult {
	feasible := float64(max(1, r.pods-r.infeasible))
	return regretResult{Judge: judge, Pods: r.pods, Infeasible: r.infeasible, Most: float64(r.most),
		Mean: float64(r.lost) / feasible, Best: float64(r.best) / feasible}
}

// part is in how many of so many cycles Headroom decides.
func (v variant) part(cycles int) int {
	if v.topK == 0 {
		return 0
	}
	return cycles
}

func profileTo(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); file.Close() }, pprof.StartCPUProfile(file)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile of sorted times, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
