package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

const (
	roundTripTarget = 10 // microseconds more than the echo
	roundTrips      = 20_000
)

// roundTrip: an evaluate of a known shape by the Go client, against an echo of as many bytes.
func roundTrip(ctx context.Context, o options) (t *table, err error) {
	t = &table{Name: "client", What: "Go evaluate round trip over a Unix socket, one pod, both ends poll. us. The echo, " +
		"and the evaluate in turns with it, are shim/client's BenchmarkEvaluate (50,000 nodes, nothing changes, headroomd's " +
		"standard profile); the others change one row before each evaluate",
		Columns: []string{"what", "K", "p50", "p99", "echo p50", "echo p99", "p50 less the echo's", "allocations", "target"}}
	l, err := lab.New()
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	j, err := newJudge(ctx, l, "the engine", nil, newCluster(o.seed, o.clientNodes, 0))
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, j.close(l)) }()
	for _, topK := range []int{16, 1} {
		echoed, err := clientBenchmark(ctx, topK, l.Binaries.Headroomd)
		if err != nil {
			return t, err
		}
		echo50, echo99 := echoed["echo-p50-us"], echoed["echo-p99-us"]
		row := func(what string, p50, p99, allocations float64) {
			t.add(what, topK, p50, p99, echo50, echo99, p50-echo50, allocations, target(p50-echo50, roundTripTarget)+"; "+
				target(allocations, 0))
		}
		row("nothing changed, 50000 nodes", echoed["evaluate-p50-us"], echoed["evaluate-p99-us"], echoed["allocs/op"])
		times, allocations, err := j.changing(ctx, topK, newPods(o.seed, 2, 1))
		if err != nil {
			return t, err
		}
		row(fmt.Sprintf("1 row changed, %d nodes, four plugins", o.clientNodes), microseconds(quantile(times, 0.5)),
			microseconds(quantile(times, 0.99)), allocations)
	}
	return t, nil
}

func microseconds(d time.Duration) float64 { return 1000 * milliseconds(d) }

// changing evaluates pods[0] while pods[1] moves from one of its best nodes to another. The times are
// sorted; the allocations are those of one evaluate.
func (j *judge) changing(ctx context.Context, topK int, pods []*v1.Pod) (times []time.Duration, allocations float64, err error) {
	var decision client.Decision
	options := client.EvaluateOptions{TopK: topK}
	if err := j.client.Evaluate(ctx, pods[0], client.EvaluateOptions{TopK: 2}, &decision); err != nil {
		return nil, 0, err
	}
	if len(decision.Candidates) != 2 {
		return nil, 0, fmt.Errorf("%d of 2 candidates", len(decision.Candidates))
	}
	places := []string{decision.Candidates[0].Node, decision.Candidates[1].Node}
	times = make([]time.Duration, 0, roundTrips)
	for i := range 2 * roundTrips { // the first half warms up
		reservation, err := j.client.Reserve(ctx, pods[1], places[i%2])
		if err != nil {
			return nil, 0, err
		}
		// Both ends are awake after it, as the echo's are: Await would not poll.
		if _, err := j.client.Stats(ctx, client.StatsOptions{}); err != nil {
			return nil, 0, err
		}
		if err := j.client.Await(ctx, reservation); err != nil {
			return nil, 0, err
		}
		begin := time.Now()
		err = j.client.Evaluate(ctx, pods[0], options, &decision)
		took := time.Since(begin)
		if err != nil || len(decision.Candidates) != topK {
			return nil, 0, fmt.Errorf("%d of %d candidates: %w", len(decision.Candidates), topK, err)
		}
		if i >= roundTrips {
			times = append(times, took)
		}
	}
	slices.Sort(times)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range roundTrips {
		if err := j.client.Evaluate(ctx, pods[0], options, &decision); err != nil {
			return nil, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	// Whole ones: other goroutines allocate now and then.
	return times, float64((after.Mallocs - before.Mallocs) / roundTrips), j.client.Unreserve(ctx, pods[1], places[1])
}

// clientBenchmark runs shim/client's own, and gives its figures by their units.
func clientBenchmark(ctx context.Context, topK int, headroomd string) (map[string]float64, error) {
	command := exec.CommandContext(ctx, "go", "test", "headroom.dev/shim/client", "-run", "^$",
		"-bench", fmt.Sprintf("^BenchmarkEvaluate$/^top_k=%d$", topK), "-benchtime", fmt.Sprintf("%dx", roundTrips))
	command.Env = append(os.Environ(), lab.HeadroomdVariable+"="+headroomd)
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", command.Args, err, out)
	}
	figures := benchmarkFigures(string(out))
	for _, name := range []string{"evaluate-p50-us", "evaluate-p99-us", "echo-p50-us", "echo-p99-us", "allocs/op"} {
		if _, found := figures[name]; !found {
			return nil, fmt.Errorf("%v: no %s in\n%s", command.Args, name, out)
		}
	}
	return figures, nil
}
