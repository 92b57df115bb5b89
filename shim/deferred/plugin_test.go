package deferred

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	schedulertesting "k8s.io/kubernetes/pkg/scheduler/testing/framework"
)

const nodeCount, podCount = 12, 40

var points = []string{"PreFilter", "Filter", "PreScore", "Score"}

// counted counts how often the stock plugin's PreFilter runs.
type counted struct {
	stock
	runs *atomic.Int32
}

func (c counted) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	c.runs.Add(1)
	return c.stock.PreFilter(ctx, state, pod, nodes)
}

// beside is a cluster as kube-scheduler's two plugins see it, and as those that stand for them do. The test plays
// headroomd.
type beside struct {
	*testing.T
	ctx             context.Context
	random          *rand.Rand
	snapshot        *cache.Snapshot
	stock, deferred framework.Framework
	runs            atomic.Int32 // of the PreFilter of both that are deferred

	// headroomd: whether it decided this cycle, whose state this is, and which nodes its answer lets the pod on.
	decided bool
	state   fwk.CycleState
	passing sets.Set[string]
}

func newBeside(t *testing.T, seed uint64) *beside {
	metrics.Register()
	b := &beside{T: t, ctx: t.Context(), random: rand.New(rand.NewPCG(seed, 0))}
	var nodes []*v1.Node
	var pods []*v1.Pod
	objects := []runtime.Object{namespace("red"), namespace("blue")}
	for i := range nodeCount {
		name := fmt.Sprintf("node-%d", i)
		labels := map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprintf("zone-%d", b.random.IntN(3))}
		if b.random.IntN(10) == 0 {
			delete(labels, v1.LabelTopologyZone)
		}
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	for i := range podCount {
		pod := b.pod(fmt.Sprintf("running-%d", i))
		pod.Spec.NodeName = nodes[b.random.IntN(nodeCount)].Name
		pods = append(pods, pod)
	}
	b.snapshot = cache.NewSnapshot(pods, nodes)
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	registry := plugins.NewInTreeRegistry()
	options := []frameworkruntime.Option{frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(b.snapshot)}
	make := func(spread, affinity string, newSpread, newAffinity frameworkruntime.PluginFactory) framework.Framework {
		made, err := schedulertesting.NewFramework(b.ctx, []schedulertesting.RegisterPluginFunc{
			schedulertesting.RegisterQueueSortPlugin(queuesort.Name, queuesort.New),
			schedulertesting.RegisterBindPlugin(defaultbinder.Name, defaultbinder.New),
			schedulertesting.RegisterPluginAsExtensionsWithWeight(spread, 2, newSpread, points...),
			schedulertesting.RegisterPluginAsExtensionsWithWeight(affinity, 2, newAffinity, points...),
		}, "default", options...)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	b.stock = make(podtopologyspread.Name, interpodaffinity.Name, registry[podtopologyspread.Name], registry[interpodaffinity.Name])
	b.deferred = make(PodTopologySpread, InterPodAffinity, b.played(NewPodTopologySpread), b.played(NewInterPodAffinity))
	factory.Start(b.ctx.Done())
	factory.WaitForCacheSync(b.ctx.Done())
	return b
}

// played is the plugin with the test for headroomd.
func (b *beside) played(factory frameworkruntime.PluginFactory) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		made, err := factory(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		its := made.(*Plugin)
		its.stock = counted{its.stock, &b.runs}
		its.decided = func(fwk.CycleState, *v1.Pod) bool { return b.decided }
		its.passed = func(state fwk.CycleState, node string) bool { return state == b.state && b.passing.Has(node) }
		return its, nil
	}
}

func namespace(name string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
}

// pod that asks for something of others, or nothing.
func (b *beside) pod(name string) *v1.Pod {
	app := func() map[string]string { return map[string]string{"app": string(rune('a' + b.random.IntN(3)))} }
	key := func() string { return []string{v1.LabelHostname, v1.LabelTopologyZone}[b.random.IntN(2)] }
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: app(),
		Namespace: []string{"red", "blue"}[b.random.IntN(2)]}}
	term := func() v1.PodAffinityTerm {
		its := v1.PodAffinityTerm{TopologyKey: key(), LabelSelector: &metav1.LabelSelector{MatchLabels: app()}}
		if b.random.IntN(3) == 0 {
			its.NamespaceSelector = &metav1.LabelSelector{}
		}
		return its
	}
	affinity := &v1.Affinity{}
	switch b.random.IntN(5) {
	case 0:
		affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	case 1:
		affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	case 2:
		affinity.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: int32(1 + b.random.IntN(100)), PodAffinityTerm: term()}}}
	}
	pod.Spec.Affinity = affinity
	for range b.random.IntN(3) {
		when := []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}[b.random.IntN(2)]
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: int32(1 + b.random.IntN(2)), TopologyKey: key(), WhenUnsatisfiable: when,
			LabelSelector: &metav1.LabelSelector{MatchLabels: app()}})
	}
	return pod
}

func (b *beside) nodes() []fwk.NodeInfo {
	all, err := b.snapshot.NodeInfos().List()
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// cycle is that of one pod in both frameworks.
type cycle struct {
	*beside
	pod         *v1.Pod
	first, same fwk.CycleState // of stock's, of the deferred ones
}

func (b *beside) cycle(pod *v1.Pod, decided bool) *cycle {
	c := &cycle{b, pod, framework.NewCycleState(), framework.NewCycleState()}
	b.decided, b.state, b.passing = decided, c.same, sets.New[string]()
	b.runs.Store(0)
	_, first, _ := b.stock.RunPreFilterPlugins(b.ctx, c.first, pod)
	_, same, _ := b.deferred.RunPreFilterPlugins(b.ctx, c.same, pod)
	if runs := b.runs.Load(); !first.IsSuccess() || !same.IsSuccess() || decided != (runs == 0) {
		b.Fatalf("PreFilter: %v, deferred %v; %d computed", first, same, runs)
	}
	return c
}

func (c *cycle) clone() *cycle {
	return &cycle{c.beside, c.pod, c.first.Clone(), c.same.Clone()}
}

// filter is stock's status, which the other has to be.
func (c *cycle) filter(node fwk.NodeInfo) *fwk.Status {
	c.Helper()
	first := c.stock.RunFilterPlugins(c.ctx, c.first, c.pod, node)
	same := c.deferred.RunFilterPlugins(c.ctx, c.same, c.pod, node)
	if first.Code() != same.Code() || first.Message() != same.Message() ||
		first != nil && first.Plugin() != strings.TrimPrefix(same.Plugin(), "Headroom") {
		c.Errorf("%s on %s: %v, deferred %v", c.pod.Name, node.Node().Name, first, same)
	}
	return first
}

func (c *cycle) filterAll() {
	c.Helper()
	for _, node := range c.nodes() {
		c.filter(node)
	}
}

func (c *cycle) add(pod fwk.PodInfo, node fwk.NodeInfo) {
	c.Helper()
	node.AddPodInfo(pod)
	c.succeeds(c.stock.RunPreFilterExtensionAddPod(c.ctx, c.first, c.pod, pod, node),
		c.deferred.RunPreFilterExtensionAddPod(c.ctx, c.same, c.pod, pod, node))
}

func (c *cycle) remove(pod fwk.PodInfo, node fwk.NodeInfo) {
	c.Helper()
	c.succeeds(fwk.AsStatus(node.RemovePod(klog.FromContext(c.ctx), pod.GetPod())),
		c.stock.RunPreFilterExtensionRemovePod(c.ctx, c.first, c.pod, pod, node),
		c.deferred.RunPreFilterExtensionRemovePod(c.ctx, c.same, c.pod, pod, node))
}

func (c *cycle) succeeds(statuses ...*fwk.Status) {
	c.Helper()
	for _, status := range statuses {
		if !status.IsSuccess() {
			c.Error(status)
		}
	}
}

// disturb is what preemption and nominated pods do to a node in a clone; a clone of that goes its own way.
func (c *cycle) disturb(node fwk.NodeInfo, random *rand.Rand, stranger fwk.PodInfo) {
	trial, node := c.clone(), node.Snapshot()
	var gone []fwk.PodInfo
	for _, on := range append([]fwk.PodInfo(nil), node.GetPods()...) {
		if random.IntN(2) == 0 {
			trial.remove(on, node)
			gone = append(gone, on)
		}
	}
	trial.filter(node)
	other, otherNode := trial.clone(), node.Snapshot()
	other.add(stranger, otherNode)
	other.filter(otherNode)
	other.filterAll()
	for _, back := range gone {
		trial.add(back, node)
		trial.filter(node)
	}
	trial.filterAll()
	other.filterAll()
}

func (c *cycle) score() {
	c.Helper()
	nodes := c.nodes()
	c.succeeds(c.stock.RunPreScorePlugins(c.ctx, c.first, c.pod, nodes), c.deferred.RunPreScorePlugins(c.ctx, c.same, c.pod, nodes))
	first, status := c.stock.RunScorePlugins(c.ctx, c.first, c.pod, nodes)
	same, sameStatus := c.deferred.RunScorePlugins(c.ctx, c.same, c.pod, nodes)
	c.succeeds(status, sameStatus)
	for i := range first {
		if first[i].Name != same[i].Name || first[i].TotalScore != same[i].TotalScore {
			c.Errorf("%s: %v, deferred %v", c.pod.Name, first[i], same[i])
		}
	}
}

// seedOf this run.
func seedOf(t *testing.T) uint64 {
	seed, err := strconv.ParseUint(os.Getenv("HEADROOM_SEED"), 10, 64)
	if err != nil {
		seed = 20260101
	}
	t.Logf("HEADROOM_SEED=%d", seed)
	return seed
}

func podInfo(t *testing.T, pod *v1.Pod) fwk.PodInfo {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Statuses and scores are the stock plugins', in the cycle's own state and in clones that preemption changes, whether
// headroomd decided or not; what it passed costs nothing, and all else one PreFilter of each plugin.
func TestAnswersAreTheStockPlugins(t *testing.T) {
	seed := seedOf(t)
	for run := range uint64(12) {
		b := newBeside(t, seed+run)
		for i := range 12 {
			c := b.cycle(b.pod(fmt.Sprintf("new-%d", i)), i%4 != 0)
			passing := sets.New[string]()
			for _, node := range c.nodes() {
				if c.stock.RunFilterPlugins(c.ctx, c.first, c.pod, node).IsSuccess() {
					passing.Insert(node.Node().Name)
				}
			}
			b.passing = passing
			for _, node := range c.nodes() {
				if passing.Has(node.Node().Name) {
					c.filter(node)
				}
			}
			if runs := b.runs.Load(); b.decided && runs != 0 {
				t.Fatalf("%d PreFilters for nodes that headroomd passed", runs)
			}
			// The answer names some of the nodes that it would let the pod on.
			for name := range passing {
				if b.random.IntN(2) == 0 {
					passing.Delete(name)
				}
			}
			c.filterAll()
			for _, node := range c.nodes() {
				c.disturb(node, b.random, podInfo(t, b.pod("stranger")))
			}
			c.filterAll()
			if runs := b.runs.Load(); runs > 2 {
				t.Fatalf("%d PreFilters in a cycle", runs)
			}
			c.score()
		}
	}
}

// Many goroutines filter and try out what preemption would; the context that some of them have ends early.
func TestManyAskAtOnce(t *testing.T) {
	seed := seedOf(t)
	b := newBeside(t, seed)
	ended, end := context.WithCancel(b.ctx)
	end()
	for i := range 8 {
		c := b.cycle(b.pod(fmt.Sprintf("new-%d", i)), true)
		strangers := make([]fwk.PodInfo, nodeCount)
		for n := range strangers {
			strangers[n] = podInfo(t, b.pod("stranger"))
		}
		var all sync.WaitGroup
		for n, node := range c.nodes() {
			all.Add(2)
			go func() {
				defer all.Done()
				c.deferred.RunFilterPlugins(ended, c.same, c.pod, node)
				c.filter(node)
			}()
			go func() {
				defer all.Done()
				c.disturb(node, rand.New(rand.NewPCG(seed, uint64(n))), strangers[n])
			}()
		}
		all.Wait()
		if runs := b.runs.Load(); runs != 2 {
			t.Errorf("%d PreFilters in a cycle", runs)
		}
	}
}

// groupState is the state of a pod's cycle in one of its group.
type groupState struct{ fwk.CycleState }

func (groupState) IsPodGroupSchedulingCycle() bool { return true }

// The preemption of pod groups changes nodes of the snapshot before it tells the plugins.
func TestPodGroupsAreNotDeferred(t *testing.T) {
	b := newBeside(t, seedOf(t))
	b.decided = true
	b.deferred.RunPreFilterPlugins(b.ctx, groupState{framework.NewCycleState()}, b.pod("member"))
	if runs := b.runs.Load(); runs != 2 {
		t.Errorf("%d PreFilters", runs)
	}
}

// failing is a plugin whose PreFilter says this.
type failing struct {
	stock
	status *fwk.Status
}

func (f failing) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, f.status
}

// What PreFilter would have said comes with the first question, to each who asks as a status of its own.
func TestPreFilterFailsLate(t *testing.T) {
	for _, said := range []*fwk.Status{fwk.AsStatus(fmt.Errorf("bad selector")),
		fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "bad term"), fwk.NewStatus(fwk.Skip)} {
		its := &Plugin{stock: failing{status: said}, name: InterPodAffinity,
			decided: func(fwk.CycleState, *v1.Pod) bool { return true },
			passed:  func(fwk.CycleState, string) bool { return false }}
		state, node := framework.NewCycleState(), framework.NewNodeInfo()
		node.SetNode(&v1.Node{})
		if _, status := its.PreFilter(t.Context(), state, &v1.Pod{}, nil); !status.IsSuccess() {
			t.Errorf("PreFilter: %v", status)
		}
		first, second := its.Filter(t.Context(), state, nil, node), its.AddPod(t.Context(), state.Clone(), nil, nil, node)
		for _, status := range []*fwk.Status{first, second} {
			if said.IsSkip() && !status.IsSuccess() || !said.IsSkip() && (status.Code() != said.Code() || status.Message() != said.Message()) {
				t.Errorf("%v became %v", said, status)
			}
		}
		if first != nil && (first == second || first == said) {
			t.Error("a status for two")
		}
	}
}

// Arguments are those of the stock plugins: their defaults, strict, and checked.
func TestArguments(t *testing.T) {
	for _, one := range []struct {
		factory  frameworkruntime.PluginFactory
		raw, err string
	}{
		{NewPodTopologySpread, ``, ""},
		{NewPodTopologySpread, `{"defaultingType": "List", "defaultConstraints": []}`, ""},
		{NewPodTopologySpread, `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "PodTopologySpreadArgs"}`, ""},
		{NewPodTopologySpread, `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "InterPodAffinityArgs"}`, "InterPodAffinityArgs was given"},
		{NewPodTopologySpread, `{"defaultConstraints": [{"maxSkew": 1}], "defaultingType": "System"}`, "defaultingType"},
		{NewPodTopologySpread, `{"maxSkew": 1}`, "unknown field"},
		{NewInterPodAffinity, ``, ""},
		{NewInterPodAffinity, `{"hardPodAffinityWeight": 7, "ignorePreferredTermsOfExistingPods": true}`, ""},
		{NewInterPodAffinity, `{"hardPodAffinityWeight": 700}`, "not in valid range"},
		{NewInterPodAffinity, `[]`, "InterPodAffinityArgs"},
	} {
		b := newBeside(t, 1)
		_, err := one.factory(b.ctx, &runtime.Unknown{Raw: []byte(one.raw)}, b.deferred)
		if (err == nil) != (one.err == "") || err != nil && !strings.Contains(err.Error(), one.err) {
			t.Errorf("%s: %v", one.raw, err)
		}
	}
	if _, err := NewInterPodAffinity(t.Context(), &v1.Pod{}, nil); err == nil {
		t.Error("a pod is no argument")
	}
}
