package main

import "context"

// regretVariants are who decides.
var regretVariants = []string{"stock", "stock_all", "headroom_16", "headroom_1", "headroom_fit"}

// regret: how much worse than the best node the chosen one is.
func regret(ctx context.Context, o options) (*table, error) {
	t := &table{Name: "regret", What: "total of the best node less that of the chosen one, by the judge's rules, in the " +
		"state in which it was chosen; each plugin gives 0 to 100. Nodes that only the judge's filters reject are " +
		"counted apart",
		Columns: []string{"nodes", "scheduler", "judge", "pods", "regret", "largest", "mean of the best", "infeasible",
			"target"}}
	for _, name := range regretVariants {
		v, err := findVariant(name)
		if err != nil {
			return t, err
		}
		result, err := inChild(ctx, rowSpec{Variant: name, Nodes: o.regretNodes, PerNode: regretPerNode, Pods: o.pods,
			Shapes: shapesMax, Seed: o.seed, Judged: true}, 0)
		if err != nil {
			return t, err
		}
		for i, r := range result.Regrets {
			verdict := ""
			// Its own rules are the first judge's, or the second's where it has Fit alone.
			if v.topK > 0 && (v.engine != nil) == (i == 1) {
				verdict = target(r.Mean, 0)
			}
			t.add(o.regretNodes, v.what, r.Judge, r.Pods, r.Mean, r.Most, r.Best, r.Infeasible, verdict)
		}
	}
	return t, nil
}

// regretPerNode pods run on each node before: nodes differ.
const regretPerNode = 4
