package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const upstreamText = `
- name: First
  workloadTemplate: [{opcode: createNodes, countParam: $initNodes}]
  workloads:
  - {name: 5Nodes, params: {initNodes: 5, measurePods: 10}}
  - {name: 9Nodes, threshold: 70, params: {initNodes: 9, measurePods: 20}}
- name: Second
  workloads: [{name: 9Nodes, params: {gatedPods: 1}}]
`

func TestAWorkloadIsUpstreamsWithoutItsFloor(t *testing.T) {
	b := &perfBench{sources: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(b.sources, "misc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.sources, "misc/performance-config.yaml"), []byte(upstreamText), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := b.upstream("misc", "First", "9Nodes")
	if err != nil {
		t.Fatal(err)
	}
	if w.nodes != 9 || w.pods != 20 {
		t.Errorf("%d nodes and %d pods", w.nodes, w.pods)
	}
	for scheduler, want := range map[string]int{"/scheduler.yaml": 1, "": 0} {
		file := filepath.Join(t.TempDir(), "configuration.yaml")
		if err := w.write(file, scheduler); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part, count := range map[string]int{"name: First": 1, "name: 9Nodes": 1, "5Nodes": 0, "Second": 0, "threshold": 0,
			"opcode: createNodes": 1, "schedulerConfigPath: /scheduler.yaml": want, "schedulerConfigPath": want} {
			if got := strings.Count(string(text), part); got != count {
				t.Errorf("%q is there %d times, not %d:\n%s", part, got, count, text)
			}
		}
	}
	for _, name := range [][2]string{{"First", "7Nodes"}, {"Third", "9Nodes"}, {"Second", "9Nodes"}} {
		if _, err := b.upstream("misc", name[0], name[1]); err == nil || !strings.Contains(err.Error(), name[0]+"/"+name[1]) {
			t.Errorf("%v: %v", name, err)
		}
	}
}

func TestMatchThatFindsNoWorkloadIsAnError(t *testing.T) {
	o := options{match: regexp.MustCompile("SchedulingBasic/5000Nodes_50000Pods")}
	if _, err := schedulerPerf(t.Context(), o); err == nil || !strings.Contains(err.Error(), `"SchedulingBasic/5000Nodes_50000Pods"`) {
		t.Errorf("a size of -full without it: %v", err)
	}
	o.full = true
	if chosen := chosenPerfWorkloads(o); len(chosen) != 1 || chosen[0].name != "5000Nodes_50000Pods" {
		t.Errorf("%v", chosen)
	}
}

func TestPodsAreCountedFromTheBeginningToTheLastBinding(t *testing.T) {
	const log = `I0612 23:59:57.000000    7 schedule_one.go:483] "Successfully bound pod to node" pod="namespace-1/init"
I0612 23:59:58.500000    7 schedule_one.go:483] "Successfully bound pod to node" pod="namespace-2/a"
I0612 23:59:59.000000    7 util.go:658] 2 pods have been scheduled successfully
I0612 23:59:59.999999    7 schedule_one.go:483] "Successfully bound pod to node" pod="namespace-2/b"
`
	begin := time.Date(2027, time.June, 12, 23, 59, 57, 999_999_000, time.Local)
	if got, err := boundPerSecond([]byte(log), begin); err != nil || got != 1 {
		t.Errorf("two in two seconds: %v, %v", got, err)
	}
	if _, err := boundPerSecond([]byte(log), begin.Add(time.Minute)); err == nil || !strings.Contains(err.Error(), "no binding") {
		t.Errorf("none: %v", err)
	}
}

func TestMedian(t *testing.T) {
	pods := func(r perfResult) float64 { return r.podsPerSecond }
	if got := median([]perfResult{{podsPerSecond: 9}, {podsPerSecond: 1}, {podsPerSecond: 2}}, pods); got != 2 {
		t.Errorf("of three: %v", got)
	}
	if got := median([]perfResult{{podsPerSecond: 4}, {podsPerSecond: 1}}, pods); got != 2.5 {
		t.Errorf("of two: %v", got)
	}
}

func TestUsageBetweenTwoTimes(t *testing.T) {
	start := time.Now()
	u := &usageOverTime{}
	for i, used := range []time.Duration{5, 7, 11, 20} {
		u.at, u.used = append(u.at, start.Add(time.Duration(i)*time.Second)), append(u.used, used)
	}
	for _, c := range []struct{ begin, end, want time.Duration }{{0, 3, 15}, {1, 2, 4}, {2, 9, 9}, {0, 0, 0}} {
		if got := u.between(start.Add(c.begin*time.Second), start.Add(c.end*time.Second)); got != c.want {
			t.Errorf("from %d to %d s: %d, not %d", c.begin, c.end, got, c.want)
		}
	}
	if none := (&usageOverTime{}).between(start, start.Add(time.Second)); none != 0 {
		t.Errorf("of no process: %v", none)
	}
}
