package check

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Terms with namespace selectors or key lists (matchLabelKeys) are not looked at: tests have none.

func matches(selector *metav1.LabelSelector, pod *v1.Pod) bool {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(pod.Labels))
}

func inNamespaces(names []string, own string, pod *v1.Pod) bool {
	if len(names) == 0 {
		return pod.Namespace == own
	}
	return slices.Contains(names, pod.Namespace)
}

// inDomain calls see for each other counted pod that the term means in the node's domain.
func (c *checker) inDomain(pod *v1.Pod, term *v1.PodAffinityTerm, node *v1.Node, see func(*v1.Pod)) {
	domain, found := node.Labels[term.TopologyKey]
	for name, pods := range c.onNode {
		other := c.nodes[name]
		if !found || other == nil || other.Labels[term.TopologyKey] != domain {
			continue
		}
		for _, p := range pods {
			if p != pod && inNamespaces(term.Namespaces, pod.Namespace, p) && matches(term.LabelSelector, p) {
				see(p)
			}
		}
	}
}

// podAffinity: required terms between pods. Anti-affinity keeps later pods away as well, so it holds in
// the end. A pod may be the first that it has affinity to.
func (c *checker) podAffinity(pod *v1.Pod, node *v1.Node) {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return
	}
	if anti := affinity.PodAntiAffinity; anti != nil {
		for i := range anti.RequiredDuringSchedulingIgnoredDuringExecution {
			term := &anti.RequiredDuringSchedulingIgnoredDuringExecution[i]
			c.inDomain(pod, term, node, func(other *v1.Pod) {
				c.report("anti-affinity", podName(pod), "%s is in the same %s %s", podName(other), term.TopologyKey,
					node.Labels[term.TopologyKey])
			})
		}
	}
	if to := affinity.PodAffinity; to != nil {
		for i := range to.RequiredDuringSchedulingIgnoredDuringExecution {
			term := &to.RequiredDuringSchedulingIgnoredDuringExecution[i]
			met := inNamespaces(term.Namespaces, pod.Namespace, pod) && matches(term.LabelSelector, pod)
			c.inDomain(pod, term, node, func(*v1.Pod) { met = true })
			if _, found := node.Labels[term.TopologyKey]; !met || !found {
				c.report("affinity", podName(pod), "no pod that it wants is in its %s %q", term.TopologyKey,
					node.Labels[term.TopologyKey])
			}
		}
	}
}

// spread: DoNotSchedule constraints. They hold in the end where every pod that the constraint counts has
// it too and may use the same nodes (else a later pod may rightly break it); others are passed over.
func (c *checker) spread(pod *v1.Pod, node *v1.Node) {
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		if constraint.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		counts := map[string]int{}
		for j := range c.Nodes {
			if domain, found := c.Nodes[j].Labels[constraint.TopologyKey]; found && selects(pod, &c.Nodes[j]) {
				counts[domain] += 0
			}
		}
		if !c.count(pod, constraint, counts) {
			continue
		}
		least := -1
		for _, n := range counts {
			if least < 0 || n < least {
				least = n
			}
		}
		domain := node.Labels[constraint.TopologyKey]
		if counts[domain]-least > int(constraint.MaxSkew) {
			c.report("spread", podName(pod), "%d pods in its %s %s, %d in another, max skew %d", counts[domain],
				constraint.TopologyKey, domain, least, constraint.MaxSkew)
		}
	}
}

// count per domain; false: not all that count have the constraint.
func (c *checker) count(pod *v1.Pod, constraint *v1.TopologySpreadConstraint, counts map[string]int) bool {
	for name, pods := range c.onNode {
		node := c.nodes[name]
		if node == nil || !selects(pod, node) {
			continue
		}
		for _, p := range pods {
			if p.Namespace != pod.Namespace || !matches(constraint.LabelSelector, p) {
				continue
			}
			same := slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(other v1.TopologySpreadConstraint) bool {
				return other.TopologyKey == constraint.TopologyKey && other.MaxSkew == constraint.MaxSkew &&
					other.WhenUnsatisfiable == v1.DoNotSchedule &&
					metav1.FormatLabelSelector(other.LabelSelector) == metav1.FormatLabelSelector(constraint.LabelSelector)
			})
			if !same {
				return false
			}
			counts[node.Labels[constraint.TopologyKey]]++
		}
	}
	return true
}
