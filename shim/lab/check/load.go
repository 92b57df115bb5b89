package check

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

const thresholdAnnotation = "scheduling.koordinator.sh/usage-thresholds"

// NodeMetric is what of it LoadAwareScheduling's filter reads.
type NodeMetric struct {
	Node    string
	Updated time.Time // zero: never
	Usage   v1.ResourceList
}

// usageLow: nothing was placed on a node that was too busy or silent all the time.
func (c *checker) usageLow(node *v1.Node, pods []*v1.Pod) {
	load, metric := c.Rules.Load, c.metrics[node.Name]
	if load == nil || metric == nil || len(metric.Usage) == 0 {
		return
	}
	at := slices.IndexFunc(pods, func(p *v1.Pod) bool { return !c.foreign(p) && !ownedByDaemonSet(p) })
	if at < 0 {
		return
	}
	if metric.Updated.IsZero() || load.Began.Sub(metric.Updated) >= load.Expiration {
		if load.FilterExpired {
			c.report("usage", podName(pods[at]), "node %s has reported nothing since %v", node.Name, metric.Updated)
		}
		return
	}
	thresholds := thresholdsOf(node, load.Thresholds)
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		has, uses := whole(name, node.Status.Allocatable[name]), whole(name, metric.Usage[name])
		if percent := thresholds[name]; percent > 0 && has > 0 && uses*100 >= percent*has {
			c.report("usage", podName(pods[at]), "node %s uses %d of %d %s, not below %d%%", node.Name, uses, has, name, percent)
		}
	}
}

func thresholdsOf(node *v1.Node, otherwise map[v1.ResourceName]int64) map[v1.ResourceName]int64 {
	var own struct {
		UsageThresholds map[v1.ResourceName]int64 `json:"usageThresholds"`
	}
	if err := json.Unmarshal([]byte(node.Annotations[thresholdAnnotation]), &own); err != nil || len(own.UsageThresholds) == 0 {
		return otherwise
	}
	for _, percent := range own.UsageThresholds {
		if percent < 0 {
			return otherwise
		}
	}
	return own.UsageThresholds
}
