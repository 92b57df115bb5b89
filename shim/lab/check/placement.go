package check

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

const unschedulableTaint = "node.kubernetes.io/unschedulable"

// placement: the pod may be on its node.
func (c *checker) placement(pod *v1.Pod) {
	node := c.nodes[pod.Spec.NodeName]
	if node == nil {
		c.report("node", podName(pod), "its node %s does not exist", pod.Spec.NodeName)
		return
	}
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = append(slices.Clone(taints), v1.Taint{Key: unschedulableTaint, Effect: v1.TaintEffectNoSchedule})
	}
	for i := range taints {
		if taint := &taints[i]; taint.Effect != v1.TaintEffectPreferNoSchedule && !tolerates(pod, taint) {
			c.report("taint", podName(pod), "it does not tolerate %s of node %s", taint.ToString(), node.Name)
		}
	}
	if !selects(pod, node) {
		c.report("node selector", podName(pod), "it does not select node %s", node.Name)
	}
	c.podAffinity(pod, node)
	c.spread(pod, node)
}

func tolerates(pod *v1.Pod, taint *v1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
		if t.Effect != "" && t.Effect != taint.Effect {
			return false
		}
		if t.Operator == v1.TolerationOpExists {
			return t.Key == "" || t.Key == taint.Key
		}
		return t.Key == taint.Key && t.Value == taint.Value
	})
}

// selects: node selector and required node affinity.
func selects(pod *v1.Pod, node *v1.Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if have, found := node.Labels[key]; !found || have != value {
			return false
		}
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return slices.ContainsFunc(terms, func(term v1.NodeSelectorTerm) bool {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			return false
		}
		for _, need := range term.MatchExpressions {
			value, found := node.Labels[need.Key]
			if !meets(need, value, found) {
				return false
			}
		}
		for _, need := range term.MatchFields {
			if !meets(need, node.Name, need.Key == "metadata.name") {
				return false
			}
		}
		return true
	})
}

func meets(need v1.NodeSelectorRequirement, value string, found bool) bool {
	switch need.Operator {
	case v1.NodeSelectorOpIn:
		return found && slices.Contains(need.Values, value)
	case v1.NodeSelectorOpNotIn:
		return !found || !slices.Contains(need.Values, value)
	case v1.NodeSelectorOpExists:
		return found
	case v1.NodeSelectorOpDoesNotExist:
		return !found
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if !found || len(need.Values) != 1 {
			return false
		}
		have, err := strconv.ParseInt(value, 10, 64)
		bound, err2 := strconv.ParseInt(need.Values[0], 10, 64)
		if err != nil || err2 != nil {
			return false
		}
		return need.Operator == v1.NodeSelectorOpGt && have > bound || need.Operator == v1.NodeSelectorOpLt && have < bound
	default:
		return false
	}
}
