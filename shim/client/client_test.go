package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/wire"
)

// fed is a headroomd with these nodes and pods.
func fed(t testing.TB, nodes, pods *mapStore) *daemon {
	t.Helper()
	d := startHeadroomd(t)
	f := NewFeeder(d.address, FeederOptions{Options: Options{Name: "feeder"}})
	f.SetStore(Nodes, nodes)
	f.SetStore(Pods, pods)
	run(t, f)
	c := newClient(t, d.address, Options{Name: "ready"})
	eventually(t, "the facts are there", func() bool {
		stats, err := c.Stats(context.Background(), StatsOptions{})
		return err == nil && stats.Ready && stats.Pods == len(pods.List())
	})
	return d
}

func TestDecisions(t *testing.T) {
	ctx := context.Background()
	d := fed(t, newStore(testNode("n1", "4"), testNode("n2", "8"), testNode("n3", "1")), newStore(testPod("old", "3", "n1")))
	c := newClient(t, d.address, Options{Name: "scheduler"})
	pod := testPod("new", "2", "")

	var decision Decision
	options := EvaluateOptions{TopK: 5, Reasons: true}
	if err := c.Evaluate(ctx, pod, options, &decision); err != nil {
		t.Fatal(err)
	}
	if decision.Code != wire.CodeSuccess || decision.Nodes != 3 || decision.Feasible != 1 || decision.Epoch == 0 ||
		len(decision.Candidates) != 1 || decision.Candidates[0].Node != "n2" || decision.Candidates[0].Total <= 0 {
		t.Errorf("%+v", decision)
	}
	if !slices.Contains(decision.Reasons, ReasonCount{"Insufficient cpu", 2}) {
		t.Errorf("%+v", decision.Reasons)
	}
	if len(decision.Plugins) != 0 || len(decision.Scores) != 0 {
		t.Errorf("scores that were not asked for: %v, %v", decision.Plugins, decision.Scores)
	}
	scored := EvaluateOptions{TopK: 5, Scores: true}
	if err := c.Evaluate(ctx, testPod("scored", "1m", ""), scored, &decision); err != nil {
		t.Fatal(err)
	}
	weights := map[string]int64{}
	for _, plugin := range c.Greeting().Profiles[0].Plugins {
		weights[plugin.Name] = plugin.Weight
	}
	if len(decision.Plugins) == 0 || len(decision.Scores) != 3*len(decision.Plugins) {
		t.Fatalf("%d candidates, plugins %v, scores %v", len(decision.Candidates), decision.Plugins, decision.Scores)
	}
	for i, candidate := range decision.Candidates {
		sum := int64(0)
		for j, plugin := range decision.Plugins {
			sum += weights[plugin] * int64(decision.Scores[i*len(decision.Plugins)+j])
		}
		if sum != candidate.Total {
			t.Errorf("%s: scores of plugins sum up to %d, its total is %d", candidate.Node, sum, candidate.Total)
		}
	}

	// A reservation counts: the second pod of 5 cpu has no room any more.
	large := testPod("large", "5", "")
	reservation, err := c.Reserve(ctx, large, "n2")
	if err != nil {
		t.Fatal(err)
	}
	second := testPod("second", "5", "")
	if err := c.Evaluate(ctx, second, options, &decision); err != nil || decision.Feasible != 0 || decision.Code != wire.CodeUnschedulable {
		t.Errorf("%+v, error %v", decision, err)
	}
	for range 2 {
		if err := c.Await(ctx, reservation); err != nil {
			t.Errorf("reserve: %s", err)
		}
	}
	refused, err := c.Reserve(ctx, second, "n2")
	if err != nil {
		t.Fatal(err)
	}
	var conflict *ServerError
	if err := c.Await(ctx, refused); !errors.As(err, &conflict) || conflict.Code != wire.ErrorCodeConflict ||
		!strings.Contains(conflict.Message, "Insufficient cpu") {
		t.Errorf("error %v", err)
	}
	if stats, err := c.Stats(ctx, StatsOptions{Validate: true}); err != nil || stats.ReservedPods != 1 || stats.Invalid != "" {
		t.Errorf("%+v, error %v", stats, err)
	}
	if err := c.Unreserve(ctx, large, "n2"); err != nil {
		t.Error(err)
	}

	decisions := make([]Decision, 3)
	pods := []*v1.Pod{second, testPod("huge", "100", ""), testPod("tiny", "1m", "")}
	if err := c.EvaluateMany(ctx, pods, options, decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Feasible != 1 || decisions[1].Feasible != 0 || decisions[2].Feasible != 3 {
		t.Errorf("%+v", decisions)
	}

	var invalid *ServerError
	none := testPod("none", "1", "")
	none.Namespace = ""
	if err := c.Evaluate(ctx, none, options, &decision); !errors.As(err, &invalid) || invalid.Code != wire.ErrorCodeInvalid {
		t.Errorf("error %v", err)
	}
	greeting := c.Greeting()
	if !strings.HasPrefix(greeting.Server, "headroomd ") || greeting.Incarnation == 0 || greeting.Incarnation != c.Incarnation() ||
		len(greeting.Profiles) != 1 || greeting.Profiles[0].SchedulerName == "" || greeting.Profiles[0].Mode == "" ||
		!slices.ContainsFunc(greeting.Profiles[0].Plugins, func(p ProfilePlugin) bool { return p.Name == "NodeResourcesFit" && p.Weight > 0 }) ||
		!slices.Contains(greeting.PluginNames, "NodeResourcesFit") || greeting.Limits["kFrameBytesMax"] != defaultFrameBytesMax ||
		greeting.Limits["kItemsPerListMax"] != itemsPerListMax {
		t.Errorf("%+v", greeting)
	}
}

func TestPreemption(t *testing.T) {
	ctx := context.Background()
	victim := testPod("victim", "3", "n1")
	victim.Status.Phase = v1.PodRunning
	d := fed(t, newStore(testNode("n1", "4")), newStore(victim))
	c := newClient(t, d.address, Options{})
	pod := testPod("urgent", "2", "")
	priority := int32(100)
	pod.Spec.Priority = &priority
	answer, err := c.PostFilter(ctx, pod, PostFilterOptions{Candidates: true})
	if err != nil {
		t.Fatal(err)
	}
	want := Victim{Namespace: "team-a", Name: "victim", UID: "uid-victim", Node: "n1", Priority: 0}
	if answer.Code != wire.CodeSuccess || answer.NominatedNode != "n1" || !slices.Equal(answer.Victims, []Victim{want}) {
		t.Errorf("%+v", answer)
	}
	if len(answer.Candidates) != 1 || answer.Candidates[0].Node != "n1" || answer.Candidates[0].Code != wire.CodeSuccess ||
		!slices.Equal(answer.Candidates[0].Victims, []Victim{want}) {
		t.Errorf("candidates %+v", answer.Candidates)
	}
	never := v1.PreemptNever
	pod.Spec.PreemptionPolicy = &never
	if answer, err = c.PostFilter(ctx, pod, PostFilterOptions{}); err != nil || answer.Code == wire.CodeSuccess || len(answer.Reasons) == 0 {
		t.Errorf("%+v, error %v", answer, err)
	}
}

// What single nodes say, and what they would say; headroomd before 0.5 does not know the question.
func TestNodesOfARealServer(t *testing.T) {
	ctx := context.Background()
	old := testPod("old", "3", "n1")
	d := fed(t, newStore(testNode("n1", "4"), testNode("n2", "8"), testNode("n3", "1")), newStore(old))
	c := newClient(t, d.address, Options{})
	pod := testPod("new", "2", "")
	all, err := c.EvaluateNodes(ctx, pod, NodesRequest{})
	var unsupported *ServerError
	if errors.As(err, &unsupported) && unsupported.Code == wire.ErrorCodeUnsupported {
		t.Skip("this headroomd does not know EvaluateNodes")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Nodes) != 3 || all.Nodes["n2"].Verdict.Code != wire.CodeSuccess || all.Nodes["n2"].Total <= 0 ||
		all.Nodes["n1"].Verdict.Plugin != "NodeResourcesFit" || !slices.Contains(all.Nodes["n3"].Verdict.Reasons, "Insufficient cpu") {
		t.Errorf("%+v", all)
	}
	without, err := c.EvaluateNodes(ctx, pod, NodesRequest{
		Nodes: []string{"n1"}, Without: []types.NamespacedName{{Namespace: "team-a", Name: "old"}}})
	if err != nil || len(without.Nodes) != 1 || without.Nodes["n1"].Verdict.Code != wire.CodeSuccess {
		t.Errorf("%+v, error %v", without, err)
	}
	with, err := c.EvaluateNodes(ctx, pod, NodesRequest{Nodes: []string{"n2"}, With: []*v1.Pod{testPod("x", "7", "")}})
	if err != nil || with.Nodes["n2"].Verdict.Code == wire.CodeSuccess {
		t.Errorf("%+v, error %v", with, err)
	}
}

// What the pod asks for and headroomd does not look at comes back with the decision.
func TestDecisionsTellWhatWasNotConsidered(t *testing.T) {
	stores, _ := readCluster(t, "testdata/edges.json")
	d := fed(t, stores[Nodes], newStore())
	c := newClient(t, d.address, Options{})
	for name, want := range map[string][]wire.NotConsidered{
		"waiting":     nil,
		"asks":        {wire.NotConsideredSchedulerName, wire.NotConsideredResourceClaims},
		"asks-little": nil,
	} {
		object, _, _ := stores[Pods].GetByKey("blue/" + name)
		var decision Decision
		if err := c.Evaluate(context.Background(), object.(*v1.Pod), EvaluateOptions{}, &decision); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(decision.NotConsidered, want) {
			t.Errorf("%s: %v, want %v", name, decision.NotConsidered, want)
		}
	}
}

// An old server renews nothing, and one that ends reservations tells how many it renewed.
func TestRenewReservations(t *testing.T) {
	f := startFake(t, func(p *peer) {
		p.greet(7)
		p.reply(p.expect(wire.BodyRenewReservations).id, wire.BodyReservationsRenewed, func(e *encoder) flatbuffers.UOffsetT {
			wire.ReservationsRenewedStart(e.b)
			wire.ReservationsRenewedAddRenewed(e.b, 3)
			return wire.ReservationsRenewedEnd(e.b)
		})
		p.fail(p.expect(wire.BodyRenewReservations).id, wire.ErrorCodeUnsupported, -1, "body: 77")
		p.serve()
	})
	c := newClient(t, f.address, Options{})
	if renewed, err := c.RenewReservations(context.Background()); renewed != 3 || err != nil {
		t.Errorf("%d, error %v", renewed, err)
	}
	var refused *ServerError
	if _, err := c.RenewReservations(context.Background()); !errors.As(err, &refused) || refused.Code != wire.ErrorCodeUnsupported {
		t.Error(err)
	}
	if greeting := c.Greeting(); greeting.ReservationTime != 0 || !greeting.May(wire.RoleFeed) {
		t.Errorf("what an old server does not say: %+v", greeting)
	}
}

// A warm decision of pods whose names and quantities are known costs no allocation.
func TestEvaluateDoesNotAllocate(t *testing.T) {
	ctx := context.Background()
	nodes := newStore(manyNodes(100)...)
	d := fed(t, nodes, newStore())
	c := newClient(t, d.address, Options{})
	pods := make([]*v1.Pod, 16)
	for i := range pods {
		pod := testPod(fmt.Sprintf("p%d", i), "1500m", "")
		pod.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}",
			"scheduling.koordinator.sh/load-estimated-scaling-factors": `{"cpu": 80}`}
		pod.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "node-7"}
		pod.Spec.Tolerations = []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists}}
		if i%2 == 0 {
			pod.Spec.NodeSelector = nil
			pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *pod.Spec.Containers[0].Resources.Requests.Cpu()
		}
		if i%5 == 0 { // fits nowhere
			pod.Spec.NodeSelector = map[string]string{"no": "such"}
		}
		pods[i] = pod
	}
	var decision Decision
	next := 0
	ask := func() {
		if err := c.Evaluate(ctx, pods[next%len(pods)], EvaluateOptions{TopK: 16, Reasons: true}, &decision); err != nil {
			t.Fatal(err)
		}
		next++
	}
	for range 10 * len(pods) {
		ask()
	}
	if allocations := testing.AllocsPerRun(1000, ask); allocations != 0 {
		t.Errorf("%v allocations for an Evaluate", allocations)
	}
}
