package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/lab"
)

const (
	// shapesMax different kinds of pods come in turn, as from many deployments that are rolled out at once.
	shapesMax = 50
	zones     = 3
	namespace = "bench"
	// Pods that are on the nodes already ask for so much at most of a node, in percent.
	filledPercent = 50
)

// cluster is a function of its seed. Its nodes have four sizes; each has a metric, as koordlet reports it,
// of 5 to 50 percent of the node.
type cluster struct {
	nodes   []*v1.Node
	metrics []*unstructured.Unstructured
	running []*v1.Pod
}

// nodeSizes in cores; 4 GiB for each.
var nodeSizes = []int64{16, 32, 64, 96}

// newCluster has `perNode` pods running on each node.
func newCluster(seed uint64, nodes, perNode int) *cluster {
	random := rand.New(rand.NewPCG(seed, 1))
	c := &cluster{}
	// Not the time of the run: what depends on it shall not differ between the rows.
	created := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	for i := range nodes {
		name := fmt.Sprintf("node-%06d", i)
		cores := nodeSizes[random.IntN(len(nodeSizes))]
		memory := cores << 32
		node := lab.Node(name, lab.Zone(fmt.Sprintf("zone-%d", i%zones)))
		node.UID = types.UID(name)
		node.ResourceVersion = "1"
		node.Status.Allocatable = v1.ResourceList{
			v1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
			v1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
		}
		node.Status.Capacity = node.Status.Allocatable
		c.nodes = append(c.nodes, node)
		c.metrics = append(c.metrics, newMetric(name, created.Time,
			lab.Amounts{"cpu": fmt.Sprintf("%dm", cores*int64(50+random.IntN(450))),
				"memory": fmt.Sprint(memory / 1000 * int64(50+random.IntN(450)))}))
		for p := range perNode {
			share := int64(filledPercent/perNode) * (1 + random.Int64N(100)) / 100
			pod := lab.Pod(namespace, fmt.Sprintf("running-%06d-%d", i, p), lab.OnNode(name),
				withRequests(cores*10*share, memory/100*share))
			identify(pod, created)
			pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &created
			c.running = append(c.running, pod)
		}
	}
	return c
}

func newMetric(node string, updated time.Time, usage lab.Amounts) *unstructured.Unstructured {
	used := map[string]any{}
	for name, quantity := range usage {
		used[name] = quantity
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": lab.NodeMetrics.GroupVersion().String(), "kind": "NodeMetric",
		"metadata": map[string]any{"name": node, "resourceVersion": "1"},
		"spec":     map[string]any{"metricCollectPolicy": map[string]any{"reportIntervalSeconds": int64(60)}},
		"status": map[string]any{
			"updateTime": updated.UTC().Format(time.RFC3339),
			"nodeMetric": map[string]any{"nodeUsage": map[string]any{"resources": used}},
		},
	}}
}

// withRequests sets requests, and limits of half as much again.
func withRequests(milliCPU, memory int64) lab.PodOption {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{
			Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI)},
			Limits: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU*3/2, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(memory*3/2, resource.BinarySI)},
		}
	}
}

func identify(pod *v1.Pod, created metav1.Time) {
	pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	pod.ResourceVersion = "1"
	pod.CreationTimestamp = created
	pod.Spec.SchedulerName = v1.DefaultSchedulerName
	pod.Spec.DNSPolicy, pod.Spec.RestartPolicy = v1.DNSClusterFirst, v1.RestartPolicyAlways
}

// newPods that wait for a node, of so many shapes in turn. They stay small, so that all find room.
func newPods(seed uint64, pods, shapes int) []*v1.Pod {
	random := rand.New(rand.NewPCG(seed, 2))
	type shape struct{ milliCPU, memory int64 }
	made := make([]shape, shapes)
	for i := range made {
		made[i] = shape{int64(1+random.IntN(20)) * 50, int64(1+random.IntN(16)) << 27}
	}
	created := metav1.NewTime(time.Now().Truncate(time.Second))
	list := make([]*v1.Pod, pods)
	for i := range list {
		s := i % shapes
		list[i] = lab.Pod(namespace, fmt.Sprintf("pod-%06d", i), withRequests(made[s].milliCPU, made[s].memory),
			lab.PodLabel("app", fmt.Sprintf("app-%d", s)))
		identify(list[i], created)
	}
	return list
}
