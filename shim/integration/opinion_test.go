package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

// What kube-scheduler and the engine say of a pod, in one form.

// scores of one node: by plugin, times its weight, those that are not 0.
type scores map[string]int64

// opinion is what a scheduler says of one pod.
type opinion struct {
	nodes  map[string]scores // of each that may run it
	totals map[string]int64
	chosen string // "": none
	why    string // where there is none, as kube-scheduler words it
}

func newOpinion() opinion { return opinion{nodes: map[string]scores{}, totals: map[string]int64{}} }

// best are the nodes of the highest total.
func (o opinion) best() map[string]bool {
	names, highest := map[string]bool{}, int64(-1)
	for node, total := range o.totals {
		if total > highest {
			names, highest = map[string]bool{}, total
		}
		if total == highest {
			names[node] = true
		}
	}
	return names
}

// stockOpinion reads the log until the pod is bound or rejected.
func stockOpinion(log *stockLog, pod string, meanwhile func()) opinion {
	log.Helper()
	said := newOpinion()
	number := func(value string) int64 {
		parsed, err := strconv.ParseInt(value, 10, 64)
		log.ok(err)
		return parsed
	}
	for {
		line := log.next(meanwhile)
		if line.values["pod"] != pod {
			continue
		}
		node := line.values["node"]
		switch line.message {
		case saysScore:
			if said.nodes[node] == nil {
				said.nodes[node] = scores{}
			}
			if score := number(line.values["score"]); score != 0 {
				said.nodes[node][line.values["plugin"]] = score
			}
		case saysTotal:
			said.totals[node] = number(line.values["score"])
		case saysBound:
			said.chosen = node
			return said
		case saysRejected:
			said.why = line.values["err"]
			return said
		}
	}
}

// engineOpinion asks headroomd.
func (c *cluster) engineOpinion(engine *client.Client, pod *v1.Pod, nodes int) opinion {
	c.Helper()
	var decision client.Decision
	c.ok(engine.Evaluate(c.ctx, pod, client.EvaluateOptions{TopK: nodes, Reasons: true, Scores: true}, &decision))
	if decision.Nodes != nodes || decision.Feasible != len(decision.Candidates) || len(decision.NotConsidered) != 0 {
		c.Fatalf("%s: %d nodes, %d feasible, %d candidates, not considered: %v", pod.Name, decision.Nodes, decision.Feasible,
			len(decision.Candidates), decision.NotConsidered)
	}
	weights := map[string]int64{}
	for _, plugin := range engine.Greeting().Profiles[0].Plugins {
		weights[plugin.Name] = plugin.Weight
	}
	said := newOpinion()
	for i, candidate := range decision.Candidates {
		node := scores{}
		for j, plugin := range decision.Plugins {
			if score := weights[plugin] * int64(decision.Scores[i*len(decision.Plugins)+j]); score != 0 {
				node[plugin] = score
			}
		}
		said.nodes[candidate.Node], said.totals[candidate.Node] = node, candidate.Total
	}
	if decision.Code == wire.CodeSuccess {
		said.chosen = decision.Candidates[0].Node
	} else {
		said.why = fitError(&decision)
	}
	return said
}

// fitError are the reasons in kube-scheduler's form.
func fitError(decision *client.Decision) string {
	reasons := slices.Clone(decision.PreFilter)
	for _, reason := range decision.Reasons {
		reasons = append(reasons, fmt.Sprintf("%d %s", reason.Nodes, reason.Reason))
	}
	slices.Sort(reasons)
	return fmt.Sprintf("0/%d nodes are available: %s.", decision.Nodes, strings.Join(reasons, ", "))
}
