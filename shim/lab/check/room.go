package check

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

const limitAnnotation = "node.koordinator.sh/limit-to-allocatable"

// room: what the node's pods take together.
func (c *checker) room(node *v1.Node) {
	pods := c.onNode[node.Name]
	if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return !c.foreign(p) }) {
		return
	}
	c.requestsFit(node, pods)
	c.limitsFit(node, pods)
	c.portsDiffer(node, pods)
	c.usageLow(node, pods)
}

func (c *checker) requestsFit(node *v1.Node, pods []*v1.Pod) {
	sum, placed := amounts{}, amounts{}
	for _, pod := range pods {
		asks := requests(pod)
		sum.add(asks)
		if !c.foreign(pod) {
			placed.add(asks)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		has := whole(name, node.Status.Allocatable[name])
		if placed[name] > 0 && sum[name] > has {
			c.report("requests", "node "+node.Name, "%s: its %d pods request %d of %d", name, len(pods), sum[name], has)
		}
	}
	if most := node.Status.Allocatable.Pods().Value(); int64(len(pods)) > most {
		c.report("requests", "node "+node.Name, "%d pods of %d", len(pods), most)
	}
}

// limitsFit: LimitAware looks at each pod but those of DaemonSets, whose limits count all the same. In
// what order they came is not known; so those of DaemonSets are left out.
func (c *checker) limitsFit(node *v1.Node, pods []*v1.Pod) {
	if c.Rules.LimitRatios == nil {
		return
	}
	ratios := ratiosOf(node, c.Rules.LimitRatios)
	sum, placed := amounts{}, amounts{}
	for _, pod := range pods {
		if ownedByDaemonSet(pod) {
			continue
		}
		asks := limits(pod)
		sum.add(asks)
		if !c.foreign(pod) {
			placed.add(asks)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ratios)) {
		has := percentOf(whole(name, node.Status.Allocatable[name]), ratios[name])
		if placed[name] > 0 && sum[name] > has {
			c.report("limits", "node "+node.Name, "%s: its pods' limits are %d of %d (%d%% of what is allocatable)",
				name, sum[name], has, ratios[name])
		}
	}
}

// ratiosOf a node: by its annotation where that is good as a whole.
func ratiosOf(node *v1.Node, otherwise map[v1.ResourceName]int64) map[v1.ResourceName]int64 {
	text, found := node.Annotations[limitAnnotation]
	if !found {
		return otherwise
	}
	var values map[v1.ResourceName]json.RawMessage
	if err := json.Unmarshal([]byte(text), &values); err != nil || values == nil {
		return otherwise
	}
	ratios := map[v1.ResourceName]int64{}
	for name, value := range values {
		percent, good := percentage(string(value))
		if !good {
			return otherwise
		}
		ratios[name] = percent
	}
	return ratios
}

// percentage of 125 or "125%"; nothing else is one.
func percentage(text string) (int64, bool) {
	if strings.HasPrefix(text, `"`) {
		if !strings.HasSuffix(text, `%"`) {
			return 0, false
		}
		text = text[1 : len(text)-2]
	}
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	percent, err := strconv.ParseInt(text, 10, 64)
	return percent, err == nil
}

// portsDiffer: no two pods take the same host port of an address.
func (c *checker) portsDiffer(node *v1.Node, pods []*v1.Pod) {
	type port struct {
		number   int32
		protocol v1.Protocol
	}
	type holder struct{ address, pod string }
	taken := map[port][]holder{}
	for _, pod := range pods {
		for _, container := range append(slices.Clone(pod.Spec.Containers), pod.Spec.InitContainers...) {
			for _, p := range container.Ports {
				if p.HostPort == 0 {
					continue
				}
				key, address := port{p.HostPort, cmp.Or(p.Protocol, v1.ProtocolTCP)}, cmp.Or(p.HostIP, "0.0.0.0")
				for _, other := range taken[key] {
					if other.pod != podName(pod) &&
						(other.address == address || other.address == "0.0.0.0" || address == "0.0.0.0") {
						c.report("host port", "node "+node.Name, "%d %s of %s and %s", key.number, key.protocol, other.pod, podName(pod))
					}
				}
				taken[key] = append(taken[key], holder{address, podName(pod)})
			}
		}
	}
}
