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

func (w *world) digest() uint64 {
	w.t.Helper()
	stats, err := w.headroom.client.Stats(w.ctx, client.StatsOptions{Digest: true, Validate: true})
	if err != nil || stats.Invalid != "" {
		w.t.Fatalf("%v %v", stats, err)
	}
	return stats.Digest
}

// withAffinity reads namespaces.
var withAffinity = lab.SchedulerProfile{Plugins: map[string]lab.PluginSet{"multiPoint": {
	Enabled: lab.Plugins("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeResourcesFit",
		"InterPodAffinity"),
	Disabled: lab.Plugins("*")}}}

func namespaceOf(name, environment string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": environment}}}
}

func TestKindsThatTheProfileReadsAreFed(t *testing.T) {
	w := newWorld(t, nil, withAffinity, node("a", "4"), namespaceOf("blue", "prod"))
	w.fedUntil(1, 0)
	if listed := w.listed(); !listed["namespaces"] || listed["services"] || listed["persistentvolumes"] {
		t.Errorf("listed: %v", listed)
	}
	first := w.digest()
	w.create(namespaceOf("green", "test"))
	w.eventually("headroomd has another namespace", func() bool { return w.digest() != first })
	if err := w.api.CoreV1().Namespaces().Delete(w.ctx, "green", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("headroomd has the first ones", func() bool { return w.digest() == first })
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
