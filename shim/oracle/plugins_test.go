//go:build oracle

package oracle

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	schedulertesting "k8s.io/kubernetes/pkg/scheduler/testing/framework"
)

const (
	programVariable  = "HEADROOM_ORACLE_SCENARIOS" // oracle_scenarios
	seedVariable     = "HEADROOM_SEED"
	clustersVariable = "HEADROOM_CLUSTERS"

	defaultProgram  = "../../build/release/bin/oracle_scenarios"
	defaultSeed     = "20260101"
	defaultClusters = "60"

	printedMax = 20
	// The volume caches of VolumeBinding are filled behind the informers' backs.
	settleTime = 30 * time.Millisecond
)

type status struct {
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
	Plugin  string   `json:"plugin"`
}

type victims struct {
	Code       string   `json:"code"`
	Victims    []string `json:"victims"`
	Violations int      `json:"violations"`
}

type answer struct {
	Filter     map[string]status           `json:"filter"`
	Scores     map[string]map[string]int64 `json:"scores"`
	Preemption map[string]victims          `json:"preemption"`
}

type scenario struct {
	Name    string            `json:"name"`
	Objects []json.RawMessage `json:"objects"`
	Pod     corev1.Pod        `json:"pod"`
	Expect  answer            `json:"expect"`
}

// Every node's status, every score and every dry run of preemption is what kube-scheduler's plugins say.
func TestOracleIsKubeScheduler(t *testing.T) {
	lines := scenarios(t)
	metrics.Register()
	registry := plugins.NewInTreeRegistry()
	count, differences := 0, []string{}
	statuses, scores, dryRuns := 0, 0, 0
	for decoder := json.NewDecoder(lines); decoder.More(); count++ {
		var one scenario
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		got := ask(t, one, registry)
		differences = append(differences, compare(one, got)...)
		statuses += len(got.Filter)
		dryRuns += len(got.Preemption)
		for _, nodes := range got.Scores {
			scores += len(nodes)
		}
	}
	t.Logf("%d scenarios, %d statuses of nodes, %d scores, %d dry runs", count, statuses, scores, dryRuns)
	for i, difference := range differences {
		if i == printedMax {
			t.Errorf("and %d more", len(differences)-i)
			break
		}
		t.Error(difference)
	}
	if count == 0 || scores == 0 || dryRuns == 0 {
		t.Error("nothing was compared")
	}
}

func scenarios(t *testing.T) *bufio.Reader {
	program := variable(programVariable, filepath.FromSlash(defaultProgram))
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%v; tools/build release oracle_scenarios builds it", err)
	}
	seed := variable(seedVariable, defaultSeed)
	t.Logf("%s=%s", seedVariable, seed)
	out, err := exec.Command(program, seed, variable(clustersVariable, defaultClusters)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(bytes.NewReader(out))
}

func variable(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func compare(one scenario, got answer) []string {
	var differences []string
	differ := func(what string, expect, actual any) {
		if !reflect.DeepEqual(expect, actual) {
			differences = append(differences,
				fmt.Sprintf("%s %s: oracle %v, kube-scheduler %v", one.Name, what, expect, actual))
		}
	}
	for node, expect := range one.Expect.Filter {
		differ("filter of "+node, expect, got.Filter[node])
	}
	for plugin, expect := range one.Expect.Scores {
		differ("scores of "+plugin, expect, got.Scores[plugin])
	}
	// The framework lists a plugin that skipped with zeros.
	for plugin, nodes := range got.Scores {
		if _, scored := one.Expect.Scores[plugin]; !scored {
			for node, score := range nodes {
				differ("score of "+plugin+" for "+node, int64(0), score)
			}
		}
	}
	shared := hostPortsShared(one)
	for node, expect := range one.Expect.Preemption {
		if !shared[node] {
			differ("preemption on "+node, expect, got.Preemption[node])
		}
	}
	return differences
}

// Nodes on which two pods have host ports, which nothing but a random cluster has: kube-scheduler forgets
// a port of both when it takes one of them away.
func hostPortsShared(one scenario) map[string]bool {
	holders, shared := map[string]int{}, map[string]bool{}
	for _, object := range decode(one) {
		pod, isPod := object.(*corev1.Pod)
		if !isPod {
			continue
		}
		for _, container := range pod.Spec.Containers {
			if len(container.Ports) != 0 {
				holders[pod.Spec.NodeName+pod.Status.NominatedNodeName]++
			}
		}
	}
	for node, count := range holders {
		shared[node] = count > 1
	}
	return shared
}

func decode(one scenario) []runtime.Object {
	made := map[string]func() runtime.Object{
		"CSIDriver":             func() runtime.Object { return &storagev1.CSIDriver{} },
		"CSINode":               func() runtime.Object { return &storagev1.CSINode{} },
		"CSIStorageCapacity":    func() runtime.Object { return &storagev1.CSIStorageCapacity{} },
		"Namespace":             func() runtime.Object { return &corev1.Namespace{} },
		"Node":                  func() runtime.Object { return &corev1.Node{} },
		"PersistentVolume":      func() runtime.Object { return &corev1.PersistentVolume{} },
		"PersistentVolumeClaim": func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
		"Pod":                   func() runtime.Object { return &corev1.Pod{} },
		"PodDisruptionBudget":   func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
		"ReplicaSet":            func() runtime.Object { return &appsv1.ReplicaSet{} },
		"ReplicationController": func() runtime.Object { return &corev1.ReplicationController{} },
		"Service":               func() runtime.Object { return &corev1.Service{} },
		"StatefulSet":           func() runtime.Object { return &appsv1.StatefulSet{} },
		"StorageClass":          func() runtime.Object { return &storagev1.StorageClass{} },
	}
	var objects []runtime.Object
	for _, raw := range one.Objects {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			panic(err)
		}
		object := made[head.Kind]()
		if err := json.Unmarshal(raw, object); err != nil {
			panic(fmt.Sprintf("%s: %s: %v", one.Name, head.Kind, err))
		}
		objects = append(objects, object)
	}
	return objects
}

// The scheduling queue knows nominated pods by what it queued; here they are the objects'.
type nominator struct {
	fwk.PodNominator
	pods map[string][]fwk.PodInfo
}

func (n *nominator) NominatedPodsForNode(node string) []fwk.PodInfo { return n.pods[node] }

// The cluster as a cycle sees it: the framework with the default plugins over a snapshot.
type cluster struct {
	framework.Framework
	snapshot *cache.Snapshot
	budgets  []*policyv1.PodDisruptionBudget
}

// Its informers run until ctx ends.
func newCluster(ctx context.Context, t *testing.T, one scenario, registry frameworkruntime.Registry) cluster {
	var made cluster
	objects := decode(one)
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	nominated := &nominator{queue.NewSchedulingQueue(nil, factory), map[string][]fwk.PodInfo{}}
	var nodes []*corev1.Node
	known := map[string]bool{}
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Node:
			nodes = append(nodes, object)
			known[object.Name] = true
		case *policyv1.PodDisruptionBudget:
			made.budgets = append(made.budgets, object)
		}
	}
	var placed []*corev1.Pod
	for _, object := range objects {
		pod, isPod := object.(*corev1.Pod)
		if !isPod || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if known[pod.Spec.NodeName] {
			placed = append(placed, pod)
		} else if name := pod.Status.NominatedNodeName; pod.Spec.NodeName == "" && name != "" {
			info, err := framework.NewPodInfo(pod)
			if err != nil {
				t.Fatal(one.Name, err)
			}
			nominated.pods[name] = append(nominated.pods[name], info)
		}
	}
	made.snapshot = cache.NewSnapshot(placed, nodes)
	var err error
	made.Framework, err = schedulertesting.NewFramework(ctx, defaultPlugins(registry), "default",
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithLogger(klog.FromContext(ctx)),
		frameworkruntime.WithMutableSnapshotLister(made.snapshot),
		frameworkruntime.WithPodNominator(nominated),
		frameworkruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(made.snapshot))
	if err != nil {
		t.Fatal(one.Name, err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	time.Sleep(settleTime)
	return made
}

// All of 1.37's default profile but DynamicResources and NodeDeclaredFeatures, which the scenarios do not
// touch.
func defaultPlugins(registry frameworkruntime.Registry) []schedulertesting.RegisterPluginFunc {
	made := []schedulertesting.RegisterPluginFunc{
		schedulertesting.RegisterQueueSortPlugin(queuesort.Name, queuesort.New),
		schedulertesting.RegisterBindPlugin(defaultbinder.Name, defaultbinder.New),
	}
	all := []string{"PreFilter", "Filter", "PreScore", "Score"}
	for _, one := range []struct {
		name       string
		weight     int32
		extensions []string
	}{
		{"NodeName", 0, all[1:2]},
		{"NodeUnschedulable", 0, all[:2]},
		{"TaintToleration", 3, all},
		{"NodeAffinity", 2, all},
		{"NodePorts", 0, all[:2]},
		{"NodeResourcesFit", 1, all},
		{"VolumeRestrictions", 0, all[:2]},
		{"NodeVolumeLimits", 0, all[:2]},
		{"VolumeBinding", 1, all},
		{"VolumeZone", 0, all[:2]},
		{"PodTopologySpread", 2, all},
		{"InterPodAffinity", 2, all},
		{"NodeResourcesBalancedAllocation", 1, all[2:]},
		{"ImageLocality", 1, all[3:]},
	} {
		made = append(made, schedulertesting.RegisterPluginAsExtensionsWithWeight(
			one.name, one.weight, registry[one.name], one.extensions...))
	}
	return made
}

func statusOf(s *fwk.Status) status {
	if s.IsSuccess() {
		return status{Code: "Success", Reasons: []string{}}
	}
	reasons := append([]string{}, s.Reasons()...)
	sort.Strings(reasons)
	return status{s.Code().String(), reasons, s.Plugin()}
}

func ask(t *testing.T, one scenario, registry frameworkruntime.Registry) answer {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cluster, pod := newCluster(ctx, t, one, registry), &one.Pod
	got := answer{map[string]status{}, map[string]map[string]int64{}, map[string]victims{}}
	state := framework.NewCycleState()
	narrowed, rejected, _ := cluster.RunPreFilterPlugins(ctx, state, pod)
	nodes, err := cluster.snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(one.Name, err)
	}
	var feasible, tried []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		said := rejected
		if rejected.IsSuccess() && !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			// schedule_one.go says so of nodes that it does not look at.
			said = fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
				"node(s) didn't satisfy plugin(s) [NodeAffinity]").WithPlugin("NodeAffinity")
		} else if rejected.IsSuccess() {
			said = cluster.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		}
		got.Filter[name] = statusOf(said)
		switch said.Code() {
		case fwk.Success:
			feasible = append(feasible, node)
		case fwk.Unschedulable:
			tried = append(tried, node)
		}
	}
	if len(feasible) != 0 {
		score(t, cluster, state, one, feasible, got)
	} else {
		preempt(t, cluster, state, one, tried, got)
	}
	return got
}

func score(t *testing.T, cluster cluster, state fwk.CycleState, one scenario, nodes []fwk.NodeInfo,
	got answer) {
	// A preferred term that is not valid, say: nothing is scored then.
	if said := cluster.RunPreScorePlugins(t.Context(), state, &one.Pod, nodes); !said.IsSuccess() {
		return
	}
	all, said := cluster.RunScorePlugins(t.Context(), state, &one.Pod, nodes)
	if !said.IsSuccess() {
		t.Fatal(one.Name, said.AsError())
	}
	for _, node := range all {
		for _, plugin := range node.Scores {
			if got.Scores[plugin.Name] == nil {
				got.Scores[plugin.Name] = map[string]int64{}
			}
			got.Scores[plugin.Name][node.Name] = plugin.Score
		}
	}
}

// SelectVictimsOnNode of every node that might be helped; which of them is chosen depends on a map's order
// where they tie.
func preempt(t *testing.T, cluster cluster, state fwk.CycleState, one scenario, nodes []fwk.NodeInfo,
	got answer) {
	args := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 100}
	preemption, err := defaultpreemption.New(t.Context(), args, cluster, feature.Features{})
	if err != nil {
		t.Fatal(one.Name, err)
	}
	for _, node := range nodes {
		possible, err := preemption.Evaluator.GetVictimsOnNode(t.Context(), node)
		if err != nil {
			t.Fatal(one.Name, err)
		}
		pods, violations, said := preemption.SelectVictimsOnNode(t.Context(), state.Clone(), &one.Pod,
			node.Snapshot(), possible, cluster.budgets)
		found := victims{said.Code().String(), []string{}, violations}
		for _, pod := range pods {
			found.Victims = append(found.Victims, pod.Namespace+"/"+pod.Name)
		}
		sort.Strings(found.Victims)
		got.Preemption[node.Node().Name] = found
	}
}
