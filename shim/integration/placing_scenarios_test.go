package integration

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// Scenarios of each of kube-scheduler's default plugins, hard and soft, where there is room.

// pool is n nodes, in turn in the zones.
func pool(n int, zones ...string) []*v1.Node { return lab.UniformNodes("node", n, zones) }

// with gives the nodes of these numbers an option.
func with(option lab.NodeOption, nodes []*v1.Node, numbers ...int) []*v1.Node {
	for _, number := range numbers {
		option(nodes[number])
	}
	return nodes
}

// replicas of one pod, prefix-0000 and so on.
func replicas(n int, options ...lab.PodOption) func(string) []*v1.Pod {
	return func(namespace string) []*v1.Pod {
		var pods []*v1.Pod
		for _, name := range numbered("replica", n) {
			pods = append(pods, lab.Pod(namespace, name, options...))
		}
		return pods
	}
}

// there are these, bound to nodes already.
func there(pods ...func(namespace string) *v1.Pod) func(string) []*v1.Pod {
	return func(namespace string) []*v1.Pod {
		var all []*v1.Pod
		for _, pod := range pods {
			all = append(all, pod(namespace))
		}
		return all
	}
}

// on is a pod that a node runs.
func on(node, name string, options ...lab.PodOption) func(string) *v1.Pod {
	return func(namespace string) *v1.Pod { return running(namespace, name, node, options...) }
}

func cpu(quantity string) lab.PodOption { return lab.Request("cpu", quantity) }

func of(name string) lab.PodOption { return lab.PodLabel(app, name) }

func label(key, value string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}
}

func inZone(zone string) func(placement) bool {
	return func(at placement) bool { return at.node.Labels[v1.LabelTopologyZone] == zone }
}

func placingScenarios() []scenario {
	const zone, host = v1.LabelTopologyZone, v1.LabelHostname
	const image = "registry.example/large:v1"
	uneven := slices.Concat(lab.UniformNodes("a", 5, []string{"a"}), lab.UniformNodes("b", 3, []string{"b"}),
		lab.UniformNodes("c", 2, []string{"c"}))
	return []scenario{
		{name: "resources: a pool filled to the last", nodes: pool(10), pods: replicas(40, cpu("2"), lab.Request("memory", "8Gi"))},
		{name: "resources: more than fits", nodes: pool(5), pods: replicas(24, cpu("2")), pending: 4},
		{name: "resources: spread over equal nodes", nodes: pool(8), pods: replicas(32, cpu("500m"), lab.Request("memory", "1Gi")), skewBy: host},
		{name: "cordoned nodes", nodes: with(lab.Cordoned(), pool(4), 0, 1), pods: replicas(8, cpu("2"))},
		{name: "taints, hard", nodes: with(lab.Taint("for", "others", v1.TaintEffectNoSchedule), pool(4), 0, 1), pods: replicas(8, cpu("2"))},
		{name: "taints, soft", nodes: with(lab.Taint("for", "others", v1.TaintEffectPreferNoSchedule), pool(4), 0, 1), pods: replicas(16, cpu("500m")),
			prefers: func(at placement) bool { return len(at.node.Spec.Taints) == 0 }},
		{name: "node affinity, hard", nodes: pool(6, "a", "b"), pods: replicas(12, cpu("2"), lab.RequireNodeAffinity(label(zone, "b")))},
		{name: "node affinity, soft", nodes: pool(6, "a", "b"), pods: replicas(12, cpu("500m"), lab.PreferNodeAffinity(100, label(zone, "b"))),
			prefers: inZone("b")},
		{name: "node by name", nodes: pool(6), pods: replicas(4, cpu("2"), lab.RequireNodeName("node-0003"))},
		{name: "host ports", nodes: pool(10), pods: replicas(10, cpu("100m"), lab.HostPort(8080)), skewBy: host},
		{name: "spread over zones, hard", nodes: uneven, pods: replicas(24, cpu("500m"), of("web"), lab.Spread(zone, 1, app, "web")), skewBy: zone},
		{name: "spread over zones, soft", nodes: uneven, pods: replicas(24, cpu("500m"), of("web"), lab.SpreadSoftly(zone, 1, app, "web")), skewBy: zone},
		{name: "spread over nodes, soft", nodes: pool(8), pods: replicas(24, cpu("500m"), of("web"), lab.SpreadSoftly(host, 1, app, "web")), skewBy: host},
		{name: "spread by default, a Service", nodes: pool(9, "a", "b", "c"), pods: replicas(27, cpu("100m"), of("web")), skewBy: host,
			objects: func(ns string) []metav1.Object { return []metav1.Object{lab.Service(ns, "web", app, "web")} }},
		{name: "affinity to a pod, hard", nodes: pool(6), running: there(on("node-0002", "anchor", of("anchor"), cpu("1"))),
			pods: replicas(7, cpu("1"), lab.BesidePods(host, app, "anchor"))},
		{name: "affinity to its own, hard", nodes: pool(6, "a", "b", "c"), pods: replicas(8, cpu("2"), of("web"), lab.BesidePods(zone, app, "web"))},
		{name: "affinity to a pod, soft", nodes: pool(20, "a", "b", "c", "d"), running: there(on("node-0002", "anchor", of("anchor"), cpu("1"))),
			pods: replicas(40, cpu("250m"), lab.PreferBesidePods(100, zone, app, "anchor")), prefers: inZone("c")},
		{name: "anti-affinity to its own, hard", nodes: pool(10), pods: replicas(10, cpu("1"), of("web"), lab.ApartFrom(host, app, "web")), skewBy: host},
		{name: "anti-affinity to its own, soft", nodes: pool(10), pods: replicas(10, cpu("1"), of("web"), lab.PreferApartFrom(100, host, app, "web")), skewBy: host,
			prefers: func(at placement) bool { return len(at.beside) == 0 }},
		{name: "anti-affinity of those there", nodes: pool(6), running: there(on("node-0000", "shy", of("shy"), lab.ApartFrom(host, app, "web")),
			on("node-0001", "shy-too", of("shy"), lab.ApartFrom(host, app, "web"))), pods: replicas(16, cpu("2"), of("web"))},
		{name: "image locality", nodes: with(lab.HasImage(image, 900<<20), pool(6), 1, 4), pods: replicas(6, cpu("100m"), lab.RunsImage(image)),
			prefers: func(at placement) bool { return len(at.node.Status.Images) > 0 }},
		{name: "volumes of a zone", nodes: pool(6, "a", "b"), objects: claims(6, false, "b"), pods: mounting(6)},
		{name: "volumes of the first pod's node", nodes: pool(6, "a", "b"), objects: claims(6, true, "b"), pods: mounting(6)},
		{name: "volumes that a node attaches", nodes: pool(3, "b"), objects: func(ns string) []metav1.Object {
			return append(claims(6, false, "b")(ns), lab.AttachLimit("node-0000", 2), lab.AttachLimit("node-0001", 2), lab.AttachLimit("node-0002", 2))
		}, pods: mounting(6), skewBy: host},
		{name: "devices by resource claims", nodes: pool(6), objects: devices(4, "node-0001", "node-0004"), pods: claiming(4, cpu("1"))},
	}
}

// claims are n volumes in a zone, each with a claim, bound or to be bound with the first pod.
func claims(n int, waiting bool, zone string) func(string) []metav1.Object {
	return func(namespace string) []metav1.Object {
		objects := []metav1.Object{lab.WaitingClass(waitingClass)}
		for i := range n {
			name := fmt.Sprintf("data-%d", i)
			volume, claim := lab.Volume(name, waitingClass, zone, "1Gi"), lab.Claim(namespace, name, waitingClass, "1Gi")
			if !waiting {
				volume = lab.For(volume, claim)
			}
			objects = append(objects, volume, claim)
		}
		return objects
	}
}

// mounting are n pods, each with its claim.
func mounting(n int, options ...lab.PodOption) func(string) []*v1.Pod {
	return each(n, options, func(i int) lab.PodOption { return lab.Mounts(fmt.Sprintf("data-%d", i)) })
}

// devices are n on each of the nodes, and as many claims of one.
func devices(n int, nodes ...string) func(string) []metav1.Object {
	return func(namespace string) []metav1.Object {
		objects := []metav1.Object{lab.DeviceClass("device")}
		for _, node := range nodes {
			objects = append(objects, lab.Devices(node, n))
		}
		for i := range n {
			objects = append(objects, lab.DeviceClaim(namespace, fmt.Sprintf("device-%d", i), "device"))
		}
		return objects
	}
}

// claiming are n pods, each with its claim of a device.
func claiming(n int, options ...lab.PodOption) func(string) []*v1.Pod {
	return each(n, options, func(i int) lab.PodOption { return lab.Claims(fmt.Sprintf("device-%d", i)) })
}

func each(n int, options []lab.PodOption, own func(i int) lab.PodOption) func(string) []*v1.Pod {
	return func(namespace string) []*v1.Pod {
		pods := replicas(n, options...)(namespace)
		for i, pod := range pods {
			own(i)(pod)
		}
		return pods
	}
}
