package main

import (
	"context"
	"fmt"
	"os"
)

const (
	cycleTarget, cycleTargetP99, cycleTargetGrowth = 0.2, 0.8, 1.2
	cycleTargetOne                                 = 0.12
)

// cycle: one scheduling cycle in this kind of process, without an API server.
func cycle(ctx context.Context, o options) (*table, error) {
	t := &table{Name: "cycle", What: "one scheduling cycle in process: pod from the queue, snapshot, PreFilter to Score, " +
		"assume, Reserve (sent in the cycle, answered beside the next one); Bind does nothing, on another goroutine. ms; Evaluate is the question to headroomd, the warm-up's among them; " +
		"processor ms a pod of the whole process, and of headroomd; what other processes took of the machine meanwhile",
		Columns: []string{"nodes", "pods", "cores", "scheduler", "cycles", "mean", "p50", "p99", "Evaluate", "scheduler CPU",
			"headroomd CPU", "others", "batched", "target (mean; p99; growth)"}}
	for _, shapes := range []int{shapesMax, 1} {
		for _, cores := range o.cores {
			smallest := map[string]float64{}
			for _, nodes := range o.nodes {
				for _, v := range variants {
					if !o.wants(v) || v.identical && shapes != 1 || v.engine != nil {
						continue
					}
					spec := rowSpec{Variant: v.name, Nodes: nodes, PerNode: o.perNode, Pods: o.pods, Seconds: o.seconds,
						WarmUp: o.warmUp, Shapes: shapes, Seed: o.seed, Checked: true, Profile: o.profile}
					result, err := inChild(ctx, spec, cores)
					if err != nil {
						return t, err
					}
					if _, known := smallest[v.name]; !known {
						smallest[v.name] = result.Mean
					}
					t.add(nodes, podsName(shapes), cores, v.what, result.Pods, result.Mean, result.P50, result.P99, result.Evaluate,
						result.SchedulerCPU, result.HeadroomdCPU, fmt.Sprintf("%.0f %%", result.Others), batched(result),
						v.cycleTarget(result, result.Mean/smallest[v.name]))
					fmt.Fprintln(os.Stderr, t.Rows[len(t.Rows)-1])
				}
			}
		}
	}
	return t, nil
}

func podsName(shapes int) string {
	if shapes == 1 {
		return "identical"
	}
	return fmt.Sprintf("%d shapes", shapes)
}

// batched is the share of cycles, the warm-up's among them, that were spared.
func batched(result rowResult) string {
	if result.BatchHits == 0 {
		return "no"
	}
	return fmt.Sprint(result.BatchHits)
}

func (v variant) cycleTarget(result rowResult, growth float64) string {
	switch v.topK {
	case 0:
		return ""
	case 1:
		return target(result.Mean, cycleTargetOne)
	default:
		return target(result.Mean, cycleTarget) + "; " + target(result.P99, cycleTargetP99) + "; " +
			target(growth, cycleTargetGrowth)
	}
}
