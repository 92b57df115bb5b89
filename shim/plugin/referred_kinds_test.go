package plugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

func (w *world) listed() map[string]bool {
	resources := map[string]bool{}
	for _, action := range w.api.Actions() {
		if action.GetVerb() == "list" {
			resources[action.GetResource().Resource] = true
		}
	}
	return resources
}

// withAffinity reads namespaces.
var withAffinity = lab.SchedulerProfile{Plugins: map[string]lab.PluginSet{"multiPoint": {
	Enabled: lab.Plugins("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeResourcesFit",
		"InterPodAffinity"),
	Disabled: lab.Plugins("*")}}}

func namespaceOf(name, environment string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": environment}}}
}

// apart is a pod that keeps away from pods of namespaces with env: test.
func apart() *v1.Pod {
	p := pod("apart", "1")
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey:       v1.LabelHostname,
			LabelSelector:     &metav1.LabelSelector{},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "test"}},
		}}}}
	return p
}

func (w *world) feasible(pod *v1.Pod) int {
	w.t.Helper()
	var decision client.Decision
	if err := w.headroom.client.Evaluate(w.ctx, pod, client.EvaluateOptions{TopK: 1}, &decision); err != nil {
		w.t.Fatal(err)
	}
	return decision.Feasible
}

func TestKindsThatTheProfileReadsAreFed(t *testing.T) {
	there := bound(pod("there", "1"), "a")
	there.Namespace = "green"
	w := newWorld(t, nil, withAffinity, node("a", "4"), there, namespaceOf("blue", "test"), namespaceOf("green", "prod"))
	w.fedUntil(1, 1)
	if listed := w.listed(); !listed["namespaces"] || listed["services"] || listed["persistentvolumes"] {
		t.Errorf("listed: %v", listed)
	}
	if feasible := w.feasible(apart()); feasible != 1 {
		t.Errorf("%d nodes are feasible beside a pod of another environment", feasible)
	}
	if _, err := w.api.CoreV1().Namespaces().Update(w.ctx, namespaceOf("green", "test"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the namespace is of that environment", func() bool { return w.feasible(apart()) == 0 })
	if err := w.api.CoreV1().Namespaces().Delete(w.ctx, "green", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the namespace is gone", func() bool { return w.feasible(apart()) == 1 })
	if resyncs := w.headroom.facts.feeder.Resyncs(); resyncs != 1 {
		t.Errorf("%d resyncs", resyncs)
	}
}

func TestKindsThatNobodyReadsAreNotFollowed(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("a", "4"))
	w.fedUntil(1, 0)
	for _, resource := range []string{"namespaces", "services", "replicasets", "persistentvolumes", "csinodes"} {
		if w.listed()[resource] {
			t.Errorf("%s are listed", resource)
		}
	}
}

func TestEveryReferredKindHasAnInformer(t *testing.T) {
	w := &world{t: t, ctx: t.Context(), api: newAPI()}
	w.start(nil)
	for kind := client.Namespaces; kind <= client.CSIStorageCapacities; kind++ {
		if referredInformer(w.handle.factory, kind) == nil {
			t.Errorf("%s", kind)
		}
	}
	if referredInformer(w.handle.factory, client.Nodes) != nil {
		t.Error("Nodes are fed anyway")
	}
}
