package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

// world is a plugin with a headroomd of its own, fed from a fake API server by the plugin itself. The
// framework is played by the test.
type world struct {
	t        *testing.T
	ctx      context.Context
	api      *fake.Clientset
	daemon   *lab.Headroomd
	handle   *fakeHandle
	headroom *Headroom
}

const longEnough = 20 * time.Second

// newWorld starts all; args are those of HeadroomArgs beside the address.
func newWorld(t *testing.T, args map[string]any, profile lab.SchedulerProfile, objects ...runtime.Object) *world {
	t.Helper()
	return newWorldOf(t, args, []lab.SchedulerProfile{profile}, objects...)
}

// newWorldOf is of a headroomd with these profiles.
func newWorldOf(t *testing.T, args map[string]any, profiles []lab.SchedulerProfile, objects ...runtime.Object) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := lab.ForTest(t)
	t.Cleanup(cancel)
	text := ""
	if profiles[0].Plugins != nil {
		var err error
		if text, err = lab.EngineProfile(profiles[0], "Proposal", profiles[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	daemon, err := l.StartHeadroomd(ctx, lab.HeadroomdOptions{Profile: text})
	if errors.Is(err, lab.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ctx: ctx, daemon: daemon}
	w.api = newAPI(objects...)
	w.start(args)
	w.eventually("headroomd is fed", func() bool { return daemon.Ready(ctx) == nil })
	return w
}

// start makes the plugin.
func (w *world) start(args map[string]any) {
	w.t.Helper()
	factory := informers.NewSharedInformerFactory(w.api, 0)
	w.handle = &fakeHandle{api: w.api, factory: factory, recorder: &events.FakeRecorder{Events: make(chan string, 100)},
		nodes: map[string]*fakeNode{}}
	made, err := New(w.ctx, w.rawArgs(args), w.handle)
	if err != nil {
		w.t.Fatal(err)
	}
	w.headroom = made.(*Headroom)
	factory.Start(w.ctx.Done())
	factory.WaitForCacheSync(w.ctx.Done())
}

func newAPI(objects ...runtime.Object) *fake.Clientset { return fake.NewClientset(objects...) }

func (w *world) rawArgs(args map[string]any) *runtime.Unknown {
	w.t.Helper()
	given := map[string]any{"address": "unix:///nowhere/headroom.sock"}
	if w.daemon != nil {
		given["address"] = w.daemon.Address
	}
	given["timeout"] = "5s" // of a loaded machine
	for name, value := range args {
		given[name] = value
	}
	raw, err := json.Marshal(given)
	if err != nil {
		w.t.Fatal(err)
	}
	return &runtime.Unknown{Raw: raw}
}

func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(longEnough); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within %v: %s", longEnough, what)
		}
	}
}

// fedPods waits until headroomd knows so many nodes and pods.
func (w *world) fedUntil(nodes, pods int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("headroomd has %d nodes and %d pods", nodes, pods), func() bool {
		stats, err := w.headroom.client.Stats(w.ctx, client.StatsOptions{})
		return err == nil && stats.Ready && stats.Nodes == nodes && stats.Pods == pods
	})
}

func (w *world) create(objects ...runtime.Object) {
	w.t.Helper()
	for _, object := range objects {
		var err error
		switch object := object.(type) {
		case *v1.Node:
			_, err = w.api.CoreV1().Nodes().Create(w.ctx, object, metav1.CreateOptions{})
		case *v1.Pod:
			_, err = w.api.CoreV1().Pods(object.Namespace).Create(w.ctx, object, metav1.CreateOptions{})
		default:
			w.t.Fatalf("%T", object)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// cycle is one pod's way through the plugin, as the framework takes it.
type tryOf struct {
	state  *fakeState
	names  []string // nil: all nodes
	status *fwk.Status
}

func (w *world) preFilter(pod *v1.Pod) tryOf {
	w.t.Helper()
	try := tryOf{state: newFakeState()}
	result, status := w.headroom.PreFilter(w.ctx, try.state, pod, nil)
	try.status = status
	if result != nil {
		try.names = result.NodeNames.UnsortedList()
	}
	return try
}

func (w *world) filter(try tryOf, pod *v1.Pod, node string) *fwk.Status {
	return w.headroom.Filter(w.ctx, try.state, pod, &fakeNode{node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}})
}

// reserve is Reserve, and what the binding says of it.
func (w *world) reserve(try tryOf, pod *v1.Pod, node string) *fwk.Status {
	if status := w.headroom.Reserve(w.ctx, try.state, pod, node); !status.IsSuccess() {
		return status
	}
	return w.headroom.PreBind(w.ctx, try.state, pod, node)
}

func node(name, cpu string) *v1.Node {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("64Gi"),
		v1.ResourcePods: resource.MustParse("110")}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: list, Capacity: list}}
}

func pod(name, cpu string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("1Gi")}}}}},
		Status: v1.PodStatus{Phase: v1.PodPending}}
}

func bound(p *v1.Pod, node string) *v1.Pod {
	p.Spec.NodeName, p.Status.Phase = node, v1.PodRunning
	return p
}

func withPriority(p *v1.Pod, priority int32) *v1.Pod {
	p.Spec.Priority = &priority
	return p
}

// fitOnly ranks by NodeResourcesFit alone.
var fitOnly = lab.SchedulerProfile{Plugins: map[string]lab.PluginSet{"multiPoint": {
	Enabled:  lab.Plugins("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeResourcesFit"),
	Disabled: lab.Plugins("*")}}}

type fakeWaitingPod struct{ fwk.WaitingPod }

// fakeHandle is what of the framework the plugin calls. What it does not have is a nil call.
type fakeHandle struct {
	fwk.Handle
	api      clientset.Interface
	factory  informers.SharedInformerFactory
	recorder *events.FakeRecorder
	nodes    map[string]*fakeNode
	// What the other plugins' filters say of a node as it would be; nil: they pass.
	others func(node *fakeNode) *fwk.Status
	waits  types.UID // in Permit

	mu        sync.Mutex
	activated map[string]int
}

func (h *fakeHandle) ProfileName() string                                    { return "default-scheduler" }
func (h *fakeHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *fakeHandle) ClientSet() clientset.Interface                         { return h.api }
func (h *fakeHandle) KubeConfig() *restclient.Config                         { return nil }
func (h *fakeHandle) RejectWaitingPod(types.UID) bool                        { return false }
func (h *fakeHandle) GetWaitingPod(uid types.UID) fwk.WaitingPod {
	if h.waits == uid {
		return fakeWaitingPod{}
	}
	return nil
}
func (h *fakeHandle) NominatedPodsForNode(string) []fwk.PodInfo { return nil }
func (h *fakeHandle) SnapshotSharedLister() fwk.SharedLister    { return fakeLister{h: h} }

func (h *fakeHandle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.activated == nil {
		h.activated = map[string]int{}
	}
	for _, pod := range pods {
		h.activated[pod.Name]++
	}
}

func (h *fakeHandle) activations(pod string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.activated[pod]
}

func (h *fakeHandle) RunPreFilterExtensionRemovePod(context.Context, fwk.CycleState, *v1.Pod, fwk.PodInfo, fwk.NodeInfo) *fwk.Status {
	return nil
}

func (h *fakeHandle) RunPreFilterExtensionAddPod(context.Context, fwk.CycleState, *v1.Pod, fwk.PodInfo, fwk.NodeInfo) *fwk.Status {
	return nil
}

func (h *fakeHandle) RunFilterPluginsWithNominatedPods(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if h.others == nil {
		return nil
	}
	return h.others(node.(*fakeNode))
}

type fakeLister struct {
	fwk.SharedLister
	h *fakeHandle
}

func (l fakeLister) NodeInfos() fwk.NodeInfoLister {
	return fakeNodeLister{h: l.h}
}

type fakeNodeLister struct {
	fwk.NodeInfoLister
	h *fakeHandle
}

func (l fakeNodeLister) Get(name string) (fwk.NodeInfo, error) {
	if node, ok := l.h.nodes[name]; ok {
		return node, nil
	}
	return nil, fmt.Errorf("node %s is not in the snapshot", name)
}

// fakeNode is a NodeInfo of a node and its pods.
type fakeNode struct {
	fwk.NodeInfo
	node *v1.Node
	pods []fwk.PodInfo
}

func (n *fakeNode) Node() *v1.Node         { return n.node }
func (n *fakeNode) GetPods() []fwk.PodInfo { return n.pods }
func (n *fakeNode) Snapshot() fwk.NodeInfo {
	return &fakeNode{node: n.node, pods: slices.Clone(n.pods)}
}
func (n *fakeNode) AddPodInfo(pod fwk.PodInfo) { n.pods = append(n.pods, pod) }
func (n *fakeNode) RemovePod(_ klog.Logger, pod *v1.Pod) error {
	n.pods = slices.DeleteFunc(n.pods, func(on fwk.PodInfo) bool { return on.GetPod().UID == pod.UID })
	return nil
}

// runs tells whether a pod of that name is on the node.
func (n *fakeNode) runs(pod string) bool {
	return slices.ContainsFunc(n.pods, func(on fwk.PodInfo) bool { return on.GetPod().Name == pod })
}

// fakeStatuses are what the cycle's filters said; a node without one was unschedulable.
type fakeStatuses map[string]fwk.Code

func (s fakeStatuses) Get(node string) *fwk.Status {
	if code, told := s[node]; told {
		return fwk.NewStatus(code, "told so")
	}
	return fwk.NewStatus(fwk.Unschedulable)
}

func (s fakeStatuses) NodesForStatusCode(nodes fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	var found []fwk.NodeInfo
	for name, node := range nodes.(fakeNodeLister).h.nodes {
		if s.Get(name).Code() == code {
			found = append(found, node)
		}
	}
	return found, nil
}

type fakePodInfo struct {
	fwk.PodInfo
	pod *v1.Pod
}

func (i fakePodInfo) GetPod() *v1.Pod { return i.pod }

// fakeState is a CycleState with data.
type fakeState struct {
	fwk.CycleState
	data    map[fwk.StateKey]fwk.StateData
	ofGroup bool
}

func newFakeState() *fakeState { return &fakeState{data: map[fwk.StateKey]fwk.StateData{}} }

func (s *fakeState) Read(key fwk.StateKey) (fwk.StateData, error) {
	if data, ok := s.data[key]; ok {
		return data, nil
	}
	return nil, fwk.ErrNotFound
}
func (s *fakeState) IsPodGroupSchedulingCycle() bool            { return s.ofGroup }
func (s *fakeState) Write(key fwk.StateKey, data fwk.StateData) { s.data[key] = data }
func (s *fakeState) Clone() fwk.CycleState {
	clone := newFakeState()
	for key, data := range s.data {
		clone.data[key] = data.Clone()
	}
	return clone
}
