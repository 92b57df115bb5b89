// Package check looks at a cluster after the fact, as the API server has it, and tells what in it breaks
// the rules: pods on nodes that cannot take them, quotas over their bounds, pods that were lost. It is
// written from the rules (the designs' and Kubernetes' documentation) and shares no code with the engine,
// the plugin or kube-scheduler.
//
// Only what holds in the end whatever the order of decisions is checked. A rule that a later change of
// the cluster may break rightly (a taint added to a node in use) is the caller's to look at first.
//
// Values only; safe for concurrent use where the cluster is not changed.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is what was listed, and by which rules pods were placed.
type Cluster struct {
	Nodes         []v1.Node
	Pods          []v1.Pod
	NodeMetrics   []NodeMetric
	ElasticQuotas []ElasticQuota

	Rules Rules
}

// Rules that were in force. Those of Kubernetes itself always are.
type Rules struct {
	// Created are the pods that must exist: a name that is missing was lost. Evicted may be missing.
	Created, Evicted []Name
	// LimitRatios of LimitAware in percent by resource, where a node's annotation gives no others; nil:
	// LimitAware is off.
	LimitRatios map[v1.ResourceName]int64
	// Load of LoadAwareScheduling; nil: it is off.
	Load *Load
	// ElasticQuotas: CapacityScheduling is on.
	ElasticQuotas bool
	// Placed by someone else than the scheduler: a node may be over its bounds because of them alone.
	Foreign func(*v1.Pod) bool
}

// Load is LoadAwareScheduling's filter.
type Load struct {
	Thresholds    map[v1.ResourceName]int64 // percent
	Expiration    time.Duration
	FilterExpired bool
	// Began is when the first pod was placed: what was expired then was expired for all.
	Began time.Time
}

// Name of a pod.
type Name struct{ Namespace, Name string }

func (n Name) String() string { return n.Namespace + "/" + n.Name }

// Violation is one broken rule.
type Violation struct {
	Rule   string // short, as "requests" or "anti-affinity"
	Object string // "pod a/b", "node n", "quota a/q"
	Detail string
}

func (v Violation) String() string { return v.Rule + ": " + v.Object + ": " + v.Detail }

// Text of violations, one a line.
func Text(violations []Violation) string {
	var text strings.Builder
	for _, v := range violations {
		fmt.Fprintln(&text, v)
	}
	return text.String()
}

// Check tells every violation, in a fixed order.
func Check(cluster Cluster) []Violation {
	c := newChecker(cluster)
	c.lost()
	for i := range c.Pods {
		if pod := &c.Pods[i]; pod.Spec.NodeName != "" && !over(pod) && !c.foreign(pod) {
			c.placement(pod)
		}
	}
	for i := range c.Nodes {
		c.room(&c.Nodes[i])
	}
	if c.Rules.ElasticQuotas {
		c.elasticQuotas()
	}
	slices.SortStableFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Object, b.Object))
	})
	return c.found
}

type checker struct {
	Cluster
	nodes   map[string]*v1.Node
	onNode  map[string][]*v1.Pod // that count there
	metrics map[string]*NodeMetric
	found   []Violation
}

func newChecker(cluster Cluster) *checker {
	c := &checker{Cluster: cluster, nodes: map[string]*v1.Node{}, onNode: map[string][]*v1.Pod{},
		metrics: map[string]*NodeMetric{}}
	for i := range c.Nodes {
		c.nodes[c.Nodes[i].Name] = &c.Nodes[i]
	}
	for i := range c.Pods {
		if pod := &c.Pods[i]; pod.Spec.NodeName != "" && !over(pod) {
			c.onNode[pod.Spec.NodeName] = append(c.onNode[pod.Spec.NodeName], pod)
		}
	}
	for i := range c.NodeMetrics {
		c.metrics[c.NodeMetrics[i].Node] = &c.NodeMetrics[i]
	}
	return c
}

func (c *checker) report(rule, object, format string, values ...any) {
	c.found = append(c.found, Violation{rule, object, fmt.Sprintf(format, values...)})
}

func (c *checker) foreign(pod *v1.Pod) bool { return c.Rules.Foreign != nil && c.Rules.Foreign(pod) }

// over: it has ended, and counts nowhere.
func over(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

func podName(pod *v1.Pod) string { return "pod " + pod.Namespace + "/" + pod.Name }

func ownedByDaemonSet(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}

// lost: every pod that was created exists, and has a node or a reason why not.
func (c *checker) lost() {
	exists := map[Name]bool{}
	for i := range c.Pods {
		pod := &c.Pods[i]
		exists[Name{pod.Namespace, pod.Name}] = true
		if pod.Spec.NodeName != "" || over(pod) {
			continue
		}
		told := slices.ContainsFunc(pod.Status.Conditions, func(condition v1.PodCondition) bool {
			return condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse
		})
		if !told {
			c.report("lost", podName(pod), "it has neither a node nor a condition PodScheduled=False")
		}
	}
	for _, name := range c.Rules.Created {
		if !exists[name] && !slices.Contains(c.Rules.Evicted, name) {
			c.report("lost", "pod "+name.String(), "it was created and does not exist")
		}
	}
}
