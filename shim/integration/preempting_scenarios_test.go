package integration

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// Scenarios of each kind of preemption: pools that are full of what is less important.

const (
	low  = 1
	mid  = 50
	high = 100
)

// full are pods of 2 cpu that fill nodes of 8, with the same options.
func full(nodes []*v1.Node, options ...lab.PodOption) func(string) []*v1.Pod {
	return filled(nodes, func(int) []lab.PodOption { return options })
}

// filled is full with options by the node's number.
func filled(nodes []*v1.Node, options func(number int) []lab.PodOption) func(string) []*v1.Pod {
	return func(namespace string) []*v1.Pod {
		var pods []*v1.Pod
		for number, node := range nodes {
			for i := range 4 {
				name := fmt.Sprintf("%s-runs-%d", node.Name, i)
				pods = append(pods, running(namespace, name, node.Name, append([]lab.PodOption{cpu("2")}, options(number)...)...))
			}
		}
		return pods
	}
}

// cheapest has pods of low priority on one node, and of mid priority on the others.
func cheapest(cheap int) func(int) []lab.PodOption {
	return func(number int) []lab.PodOption {
		if number == cheap {
			return []lab.PodOption{lab.Priority(low)}
		}
		return []lab.PodOption{lab.Priority(mid)}
	}
}

// both namespace's pods.
func both(first, second func(string) []*v1.Pod) func(string) []*v1.Pod {
	return func(namespace string) []*v1.Pod { return append(first(namespace), second(namespace)...) }
}

func preemptingScenarios() []scenario {
	const zone, host = v1.LabelTopologyZone, v1.LabelHostname
	urgent := lab.Priority(high)
	three, four, zones := pool(3), pool(4), pool(4, "a", "b")
	oneEach := func(options ...lab.PodOption) func(string) []*v1.Pod {
		return func(ns string) []*v1.Pod {
			var pods []*v1.Pod
			for i, node := range four {
				pods = append(pods, running(ns, "on-"+node.Name, node.Name, append([]lab.PodOption{cpu("1"), lab.Priority(int32(low + i))}, options...)...))
			}
			return pods
		}
	}
	tainted := with(lab.Taint("for", "others", v1.TaintEffectNoSchedule), pool(4), 0)
	withoutDevice := pool(4)
	return []scenario{
		{name: "preemption: one for one", nodes: four, running: filled(four, cheapest(2)), pods: replicas(4, cpu("2"), urgent)},
		{name: "preemption: one for several", nodes: four, running: filled(four, cheapest(2)), pods: replicas(1, cpu("5"), urgent)},
		{name: "preemption: a pool for another", nodes: four, running: full(four, lab.Priority(low)), pods: replicas(16, cpu("2"), urgent)},
		{name: "preemption: anti-affinity to its own", nodes: three, running: full(three, lab.Priority(low)),
			pods: replicas(3, cpu("2"), urgent, of("db"), lab.ApartFrom(host, app, "db")), skewBy: host},
		{name: "preemption: hard spread over zones", nodes: zones, running: full(zones, lab.Priority(low)),
			pods: replicas(4, cpu("2"), urgent, of("web"), lab.Spread(zone, 1, app, "web")), skewBy: zone},
		{name: "preemption: hard spread over nodes", nodes: four, running: full(four, lab.Priority(low)),
			pods: replicas(4, cpu("2"), urgent, of("web"), lab.Spread(host, 1, app, "web")), skewBy: host},
		{name: "preemption: anti-affinity to what is there", nodes: four, running: oneEach(of("noise")),
			pods: replicas(2, cpu("1"), urgent, lab.ApartFrom(host, app, "noise"))},
		{name: "preemption: anti-affinity of what is there", nodes: four, running: oneEach(lab.ApartFrom(host, app, "db")),
			pods: replicas(2, cpu("1"), urgent, of("db"))},
		{name: "preemption: beside a pod that must stay", nodes: three,
			running: both(filled(three[:2], cheapest(0)), there(on("node-0002", "anchor", of("anchor"), cpu("2"), lab.Priority(high)),
				on("node-0002", "guest", cpu("6"), lab.Priority(mid)))),
			pods: replicas(1, cpu("2"), urgent, lab.BesidePods(host, app, "anchor"))},
		{name: "preemption: beside a pod that is less important", nodes: three,
			running: both(filled(three[:2], cheapest(0)), there(on("node-0002", "anchor", of("anchor"), cpu("2"), lab.Priority(low)),
				on("node-0002", "guest", cpu("6"), lab.Priority(mid)))),
			pods: replicas(1, cpu("2"), urgent, lab.BesidePods(host, app, "anchor")), pending: 1},
		{name: "preemption: a budget protects the cheapest", nodes: four, objects: budget(0),
			running: filled(four, func(number int) []lab.PodOption {
				if number == 3 {
					return []lab.PodOption{lab.Priority(mid)}
				}
				return []lab.PodOption{lab.Priority(low), of("guarded")}
			}), pods: replicas(2, cpu("2"), urgent)},
		{name: "preemption: a budget that cannot be kept", nodes: four, objects: budget(1), running: full(four, lab.Priority(low), of("guarded")),
			pods: replicas(1, cpu("4"), urgent)},
		{name: "preemption: not for who never preempts", nodes: four, running: full(four, lab.Priority(low)),
			pods: replicas(1, cpu("2"), lab.NonPreempting(high)), pending: 1},
		{name: "preemption: not of equals", nodes: four, running: full(four, urgent), pods: replicas(1, cpu("2"), urgent), pending: 1},
		{name: "preemption: a host port", nodes: four, running: oneEach(lab.HostPort(8080)),
			pods: replicas(2, cpu("1"), urgent, lab.HostPort(8080))},
		{name: "preemption: places for pods", nodes: with(lab.Allocatable("pods", "4"), pool(4), 0, 1, 2, 3), running: filled(four, cheapest(1)),
			pods: replicas(1, urgent)},
		{name: "preemption: a node by name", nodes: four, running: filled(four, cheapest(2)),
			pods: replicas(1, cpu("2"), urgent, lab.RequireNodeName("node-0001"))},
		{name: "preemption: not on nodes with a taint", nodes: tainted, running: filled(tainted, cheapest(0)), pods: replicas(1, cpu("2"), urgent)},
		{name: "preemption: a volume's zone", nodes: zones, running: filled(zones, cheapest(0)), objects: claims(2, false, "b"),
			pods: mounting(2, cpu("2"), urgent)},
		{name: "preemption: a volume of the first pod's node", nodes: zones, running: filled(zones, cheapest(0)), objects: claims(2, true, "b"),
			pods: mounting(2, cpu("2"), urgent)},
		{name: "preemption: a device is elsewhere than the cheapest", nodes: four, running: filled(four, cheapest(0)), objects: devices(2, "node-0003"),
			pods: claiming(2, cpu("2"), urgent)},
		{name: "preemption: a device is elsewhere than room", nodes: withoutDevice, running: full(withoutDevice[2:], lab.Priority(low)),
			objects: devices(2, "node-0003"), pods: claiming(2, cpu("2"), urgent)},
	}
}

// budget of the guarded pods: so many may go.
func budget(allowed int32) func(string) []metav1.Object {
	return func(namespace string) []metav1.Object {
		return []metav1.Object{lab.Budget(namespace, "guarded", allowed, app, "guarded")}
	}
}
