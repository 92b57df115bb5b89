package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// perfWorkload is one of upstream's, as its configuration has it.
type perfWorkload struct {
	topic, test, name string
	nodes, pods       int // pods: those that are measured
	// The test case with this workload alone, without upstream's floors, which are those of its own machine.
	testCase map[string]any
}

// Upstream's names of the number of nodes, and of the pods that are measured.
const (
	nodesParameter = "initNodes"
	podsParameter  = "measurePods"
)

// upstream reads it from upstream's configuration of that topic.
func (b *perfBench) upstream(topic, test, name string) (*perfWorkload, error) {
	path := filepath.Join(b.sources, topic, "performance-config.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var testCases []map[string]any
	if err := yaml.Unmarshal(text, &testCases); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	named := func(list []map[string]any, name string) map[string]any {
		if i := slices.IndexFunc(list, func(its map[string]any) bool { return its["name"] == name }); i >= 0 {
			return list[i]
		}
		return nil
	}
	w := &perfWorkload{topic: topic, test: test, name: name, testCase: named(testCases, test)}
	var workloads []map[string]any
	if list, ok := w.testCase["workloads"].([]any); ok {
		for _, one := range list {
			if its, ok := one.(map[string]any); ok {
				workloads = append(workloads, its)
			}
		}
	}
	workload := named(workloads, name)
	parameters, _ := workload["params"].(map[string]any)
	nodes, hasNodes := parameters[nodesParameter].(float64)
	pods, hasPods := parameters[podsParameter].(float64)
	if !hasNodes || !hasPods || pods < 1 {
		return nil, fmt.Errorf("%s: no workload %s/%s with %s and %s", path, test, name, nodesParameter, podsParameter)
	}
	w.nodes, w.pods = int(nodes), int(pods)
	delete(workload, "threshold")
	w.testCase["workloads"] = []any{workload}
	return w, nil
}

// write the configuration that upstream's benchmark is to read; scheduler is a file, empty: stock's own profile.
func (w *perfWorkload) write(file, scheduler string) error {
	delete(w.testCase, "schedulerConfigPath")
	if scheduler != "" {
		w.testCase["schedulerConfigPath"] = scheduler
	}
	text, err := yaml.Marshal([]any{w.testCase})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
