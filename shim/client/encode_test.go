package client

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/wire"
)

// quantityOf is the text that goes over the wire.
func quantityOf(e *encoder, quantity resource.Quantity) string {
	e.reset()
	mark := e.mark()
	e.push(e.resource(e.string("r"), e.quantityText(quantity)))
	e.b.Finish(e.vector(mark))
	return string(e.text)
}

func TestQuantitiesAreExact(t *testing.T) {
	texts := []string{"0", "1", "-1", "1500m", "0.1", "1u", "1n", "0.0000000001", "123456789123m", "1Ki", "1.5Gi", "1e3", "12E", "3e6", "5Ti",
		"9223372036854775807", "9223372036854775807m", "-9223372036854775808", "18446744073709551616", "1Ei", "4.000000001", "100k", "65421128Ki",
		"1e-9", "1e18", "7.5", "922337203685477580700m"}
	suffixes := []string{"", "m", "u", "n", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e2", "e-4"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := fmt.Sprintf("%d", random.Int64N(1<<random.UintN(50)+1))
		if random.UintN(2) == 0 {
			text += fmt.Sprintf(".%d", random.UintN(10000))
		}
		texts = append(texts, text+suffixes[random.IntN(len(suffixes))])
	}
	e := newEncoder()
	for _, text := range texts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			t.Fatalf("%s: %s", text, err)
		}
		before := quantity.DeepCopy()
		written := quantityOf(&e, quantity)
		if read, err := resource.ParseQuantity(written); err != nil || read.Cmp(quantity) != 0 {
			t.Errorf("%s was written as %q (%v)", text, written, err)
		}
		if !reflect.DeepEqual(before, quantity) {
			t.Errorf("%s was changed", text)
		}
	}
}

// The annotations that the engine reads are those that are sent.
func TestAnnotationsAreTheEngines(t *testing.T) {
	text, err := os.ReadFile("../../objects/annotations.h")
	if err != nil {
		t.Skip(err)
	}
	var read []string
	for _, match := range regexp.MustCompile(`=\s*"([^"]+/[^"]+)";`).FindAllStringSubmatch(string(text), -1) {
		read = append(read, match[1])
	}
	sent := slices.Concat(podAnnotations, nodeAnnotations, storageAnnotations)
	slices.Sort(read)
	slices.Sort(sent)
	if !slices.Equal(read, sent) {
		t.Errorf("the engine reads\n%s\nsent are\n%s", strings.Join(read, "\n"), strings.Join(sent, "\n"))
	}
}

// What digests of facts do not tell: labels, host ports, times.
func TestPodFields(t *testing.T) {
	stores, _ := readCluster(t, "testdata/edges.json")
	object, _, _ := stores[Pods].GetByKey("blue/bound")
	pod := object.(*v1.Pod)
	restart := v1.ContainerRestartPolicyAlways
	pod.Spec.InitContainers[0].RestartPolicy = &restart
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{
		{ContainerPort: 80}, {ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP},
		{ContainerPort: 53, HostPort: 53, Protocol: v1.ProtocolUDP, HostIP: "10.0.0.1"}}
	pod.Status.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}}
	pod.Status.AllocatedResources = v1.ResourceList{v1.ResourceCPU: resource.MustParse("3"), v1.ResourceMemory: resource.MustParse("1Gi")}
	e := newEncoder()
	e.b.Finish(e.pod(pod))
	read := wire.GetRootAsPod(e.b.FinishedBytes(), 0)
	got := []any{string(read.NamespaceName()), string(read.Name()), string(read.Uid()), read.DaemonSet(), read.CreationUs(), read.StartUs(),
		string(read.NodeName()), read.HasPriority(), read.Priority(), read.ActiveDeadlineSeconds(), string(read.Phase()),
		string(read.QosClass()), read.ResizeInfeasible(), read.Deleting(), string(read.PriorityClassName()), string(read.PreemptionPolicy()),
		read.Scheduled(nil).IsTrue(), read.Scheduled(nil).LastTransitionUs(), read.Initialized(nil).LastTransitionUs(),
		read.LabelsLength(), read.AnnotationsLength(), read.ContainersLength(), read.InitContainersLength(),
		read.ActuatedRequestsLength(), read.AllocatedRequestsLength()}
	const begin = 1767225600_000000 // 2026-01-01
	want := []any{"blue", "bound", "p1", true, int64(begin), int64(begin + 9_000_000),
		"n1", true, int32(7), int64(600), "Running",
		"Burstable", true, false, "high", "Never",
		true, int64(begin + 1_000_000), int64(begin + 3_000_000),
		2, 3, 3, 2, 1, 2}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %v, want %v", i, got[i], want[i])
		}
	}
	var container wire.Container
	var containers []string
	for i := range read.ContainersLength() {
		read.Containers(&container, i)
		table := container.Table()
		reported := table.Offset(12) != 0 // actuated_requests: absent differs from empty
		containers = append(containers, fmt.Sprintf("%s %v %d/%d %v %d/%d", container.Name(), container.RestartAlways(),
			container.RequestsLength(), container.LimitsLength(), reported, container.ActuatedRequestsLength(), container.AllocatedRequestsLength()))
	}
	if wanted := []string{"a false 2/2 true 2/2", "b false 2/0 true 0/1", "c false 0/0 false 0/0"}; !slices.Equal(containers, wanted) {
		t.Errorf("containers %q, want %q", containers, wanted)
	}
	read.InitContainers(&container, 0)
	if !container.RestartAlways() {
		t.Error("a sidecar is none")
	}
	read.Containers(&container, 0)
	var ports []string
	var port wire.ContainerPort
	for i := range container.PortsLength() {
		container.Ports(&port, i)
		ports = append(ports, fmt.Sprintf("%d %s %s", port.HostPort(), port.Protocol(), port.HostIp()))
	}
	if wanted := []string{"8080  ", "53 UDP 10.0.0.1"}; !slices.Equal(ports, wanted) {
		t.Errorf("ports %q, want %q", ports, wanted)
	}
}

// An object of another shape than its schema is refused with the field's path.
func TestCustomFieldsOfAnotherType(t *testing.T) {
	stores, _ := readCluster(t, "testdata/edges.json")
	for _, wrong := range []struct {
		kind  Kind
		key   string
		path  []string
		value any
		says  string
	}{
		{NodeMetrics, "n1", []string{"status"}, "x", "status: x is not an object"},
		{NodeMetrics, "n1", []string{"status", "updateTime"}, "soon", "status.updateTime: soon is not a time"},
		{NodeMetrics, "n1", []string{"status", "podsMetric"}, true, "status.podsMetric: true is not a list"},
		{NodeMetrics, "n1", []string{"spec", "metricCollectPolicy", "reportIntervalSeconds"}, "6", "is not an integer"},
		{ElasticQuotas, "blue/q", []string{"spec", "min"}, map[string]any{"cpu": true}, "spec.min: true is not a quantity"},
		{CapacityQuotas, "gpus", []string{"spec", "selector", "matchLabels"}, []any{}, "spec.selector.matchLabels: [] is not an object"},
	} {
		object, _, _ := stores[wrong.kind].GetByKey(wrong.key)
		changed := object.(*unstructured.Unstructured).DeepCopy()
		fields := changed.Object
		for _, name := range wrong.path[:len(wrong.path)-1] {
			fields = fields[name].(map[string]any)
		}
		fields[wrong.path[len(wrong.path)-1]] = wrong.value
		e := newEncoder()
		if _, err := e.upsert(wrong.kind, changed); err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%v: error %v; want %q", wrong.path, err, wrong.says)
		}
	}
	e := newEncoder()
	if _, err := e.upsert(Pods, &v1.Node{}); err == nil {
		t.Error("a Node is no Pod")
	}
	var none flatbuffers.UOffsetT
	if offset, err := e.upsert(NodeMetrics, &v1.Node{}); err == nil || offset != none {
		t.Error("a Node is no NodeMetric")
	}
}

// What is written of a node differs where SameNode says so, and nowhere else.
func TestANodeIsAnotherWhereTheWireSaysSo(t *testing.T) {
	full := func() *v1.Node {
		quantities := func(cpu string) v1.ResourceList {
			return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)} // of several the order differs
		}
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "a"},
				Annotations: map[string]string{nodeAnnotations[0]: `{"cpu":100}`}},
			Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}}},
			Status: v1.NodeStatus{Allocatable: quantities("3500m"), Capacity: quantities("4"),
				DeclaredFeatures: []string{"f"},
				Images:           []v1.ContainerImage{{Names: []string{"a@1", "a:1"}, SizeBytes: 5}, {Names: []string{"b"}}}},
		}
	}
	written := func(node *v1.Node) string {
		e := newEncoder()
		e.reset()
		e.b.Finish(e.node(node))
		return string(e.b.FinishedBytes())
	}
	now := metav1.Now()
	for name, change := range map[string]func(*v1.Node){
		"name":             func(n *v1.Node) { n.Name = "m" },
		"label":            func(n *v1.Node) { n.Labels["pool"] = "b" },
		"another label":    func(n *v1.Node) { n.Labels["zone"] = "" },
		"annotation":       func(n *v1.Node) { n.Annotations[nodeAnnotations[0]] = "{}" },
		"empty annotation": func(n *v1.Node) { n.Annotations[nodeAnnotations[3]] = "" },
		"unschedulable":    func(n *v1.Node) { n.Spec.Unschedulable = true },
		"taint":            func(n *v1.Node) { n.Spec.Taints[0].Effect = v1.TaintEffectNoExecute },
		"taint's value":    func(n *v1.Node) { n.Spec.Taints[0].Value = "w" },
		"no taint":         func(n *v1.Node) { n.Spec.Taints = nil },
		"allocatable":      func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("3") },
		"capacity":         func(n *v1.Node) { n.Status.Capacity[v1.ResourceCPU] = resource.MustParse("5") },
		"deleting":         func(n *v1.Node) { n.DeletionTimestamp = &now },
		"image's name":     func(n *v1.Node) { n.Status.Images[0].Names[1] = "a:2" },
		"image's size":     func(n *v1.Node) { n.Status.Images[1].SizeBytes = 7 },
		"images' order":    func(n *v1.Node) { slices.Reverse(n.Status.Images) },
		"feature":          func(n *v1.Node) { n.Status.DeclaredFeatures = nil },

		"= another annotation": func(n *v1.Node) { n.Annotations["volumes.kubernetes.io/controller"] = "true" },
		"= heartbeat": func(n *v1.Node) {
			n.ResourceVersion = "2"
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, LastHeartbeatTime: now}}
		},
		"= when a taint came": func(n *v1.Node) { n.Spec.Taints[0].TimeAdded = &now },
		"= address":           func(n *v1.Node) { n.Status.Addresses = []v1.NodeAddress{{Address: "10.0.0.1"}} },
		"= nothing":           func(*v1.Node) {},
	} {
		node := full()
		change(node)
		same := strings.HasPrefix(name, "=")
		if SameNode(full(), node) != same || SameNode(node, full()) != same {
			t.Errorf("%s: said to be the same: %v", name, !same)
		}
		if (written(node) == written(full())) != same {
			t.Errorf("%s: written the same: %v", name, !same)
		}
	}
}
