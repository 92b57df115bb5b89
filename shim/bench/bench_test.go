package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/lab"
)

// needLab skips where the programs are not built.
func needLab(t *testing.T) {
	t.Helper()
	l, err := lab.New()
	if errors.Is(err, lab.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Binaries.HasHeadroom(), l.Close()); err != nil {
		t.Skip(err)
	}
}

// Each variant schedules all pods; where Headroom decides, every node is among the engine's best.
func TestRowsCheckTheirAnswers(t *testing.T) {
	needLab(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			spec := rowSpec{Variant: v.name, Nodes: 500, Pods: 20, WarmUp: 180, Shapes: shapesMax, Seed: 7, Checked: true}
			if v.identical {
				spec.Shapes = 1
			}
			result := inProcess(t, spec)
			if result.Pods != spec.Pods || result.Mean <= 0 || result.P50 > result.P99 || result.SchedulerCPU < 0 {
				t.Errorf("%+v", result)
			}
			if v.identical != (result.BatchHits > 0) {
				t.Errorf("%d cycles were batched", result.BatchHits)
			}
		})
	}
}

func inProcess(t *testing.T, spec rowSpec) rowResult {
	t.Helper()
	result, err := measure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The judges say so when a scheduler that does not know the rules decides, and find no fault with the engine.
func TestRegret(t *testing.T) {
	needLab(t)
	for name, none := range map[string][2]bool{"stock": {false, false}, "headroom_16": {true, false},
		"headroom_1": {true, false}, "headroom_fit": {false, true}} {
		t.Run(name, func(t *testing.T) {
			result := inProcess(t, rowSpec{Variant: name, Nodes: 200, PerNode: regretPerNode, Pods: 100, Shapes: shapesMax,
				Seed: 3, Judged: true})
			if len(result.Regrets) != 2 {
				t.Fatalf("%+v", result)
			}
			for i, r := range result.Regrets {
				if r.Pods != 100 || none[i] != (r.Mean == 0) || r.Mean == 0 && r.Infeasible > 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestARowStopsWhenItsTimeIsOver(t *testing.T) {
	needLab(t)
	result := inProcess(t, rowSpec{Variant: "stock_all", Nodes: 200, Pods: 3000, Seconds: 0.05, Shapes: 1, Seed: 1})
	if result.Pods < 1 || result.Pods == 3000 {
		t.Errorf("%d pods", result.Pods)
	}
}

func TestCheckRoomFindsWhatDoesNotFit(t *testing.T) {
	c := newCluster(1, 3, 0)
	pods := newPods(1, 3, 1)
	bound := map[string]string{}
	for _, pod := range pods {
		bound[pod.Name] = c.nodes[0].Name
	}
	if err := checkRoom(c, pods, bound); err != nil {
		t.Error(err)
	}
	all := pods[0].Spec.Containers[0].Resources.Requests
	c.nodes[0].Status.Allocatable[v1.ResourceCPU] = *all.Cpu()
	if err := checkRoom(c, pods, bound); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("three pods in the room of one: %v", err)
	}
	delete(bound, pods[0].Name)
	if err := checkRoom(c, pods, bound); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a pod without a node: %v", err)
	}
}

func TestClustersAreAFunctionOfTheirSeed(t *testing.T) {
	usage := func(seed uint64) string {
		c := newCluster(seed, 1, 2)
		return c.nodes[0].Status.Allocatable.Cpu().String() + c.running[0].Spec.Containers[0].Resources.Requests.Cpu().String()
	}
	if usage(5) != usage(5) || usage(5) == usage(6) && usage(6) == usage(7) {
		t.Error(usage(5), usage(6), usage(7))
	}
}

func TestQuantile(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100} {
		if got := quantile(times, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("of none")
	}
}

func TestOptions(t *testing.T) {
	o, err := readOptions([]string{"-nodes", "10,20", "-variants", "stock,headroom_1", "-pods", "7"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if len(o.nodes) != 2 || o.nodes[1] != 20 || o.pods != 7 || !o.wants(variants[0]) || o.wants(variants[1]) {
		t.Errorf("%+v", o)
	}
	for _, args := range [][]string{{"-nodes", "0"}, {"-variants", "nobody"}, {"-rounds", "0"}, {"-match", "("}, {"more"}} {
		if _, err := readOptions(args, t.Output()); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
