package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"headroom.dev/shim/client"
)

// quotaWorld is a controller whose headroomd and API server are played by the test, in a bubble of synctest.
type quotaWorld struct {
	t          *testing.T
	controller *quotaController
	elastic    []client.ElasticQuotaState
	capacity   []client.CapacityQuotaState
	down       error // what headroomd answers; nil: the states
	stores     map[client.Kind]cache.Store
	answer     func(name string) error // what the API server says of a write; nil: it is done, and shown
	writes     []quotaWrite
	events     []string
}

type quotaWrite struct {
	at     time.Time
	name   string
	status string // as JSON
}

func (w *quotaWorld) ElasticQuotas(context.Context) ([]client.ElasticQuotaState, error) {
	return slices.Clone(w.elastic), w.down
}

func (w *quotaWorld) CapacityQuotas(context.Context) ([]client.CapacityQuotaState, error) {
	return slices.Clone(w.capacity), w.down
}

// inQuotaWorld runs the controller beside the test, which begins as a follower.
func inQuotaWorld(t *testing.T, test func(w *quotaWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w := &quotaWorld{t: t, stores: map[client.Kind]cache.Store{}}
		w.controller = newQuotaController(w, func(quota *unstructured.Unstructured, reason, note string) {
			w.events = append(w.events, quota.GetName()+" "+reason+": "+note)
		})
		api := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
		api.PrependReactor("patch", "*", w.patched)
		for _, custom := range customKinds {
			if isQuota(custom.kind) {
				w.stores[custom.kind] = cache.NewStore(cache.MetaNamespaceKeyFunc)
				w.controller.follow(custom.kind, w.stores[custom.kind], api.Resource(custom.resource))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.controller.run(ctx)
		synctest.Wait()
		test(w)
	})
}

func (w *quotaWorld) patched(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	if patch.GetPatchType() != types.ApplyPatchType || patch.GetSubresource() != "status" ||
		patch.PatchOptions.FieldManager != quotaFieldManager || patch.PatchOptions.Force != nil && *patch.PatchOptions.Force {
		w.t.Errorf("not an apply of the status that leaves others their fields: %+v", patch)
	}
	applied := &unstructured.Unstructured{}
	if err := json.Unmarshal(patch.GetPatch(), &applied.Object); err != nil {
		w.t.Error(err)
	}
	if applied.Object["spec"] != nil {
		w.t.Errorf("the spec is applied, too: %s", patch.GetPatch())
	}
	status, _ := json.Marshal(applied.Object["status"])
	w.writes = append(w.writes, quotaWrite{time.Now(), patch.GetName(), string(status)})
	if w.answer != nil {
		if err := w.answer(patch.GetName()); err != nil {
			return true, nil, err
		}
	}
	for _, store := range w.stores {
		for _, object := range store.List() {
			if shown := object.(*unstructured.Unstructured); shown.GetName() == patch.GetName() {
				next := shown.DeepCopy()
				next.Object["status"] = applied.Object["status"]
				_ = store.Update(next)
			}
		}
	}
	return true, applied, nil
}

// shows a quota of that generation in the informer.
func (w *quotaWorld) shows(kind client.Kind, namespace, name string, generation int64, status map[string]any) {
	group, kindName := schema.GroupVersion{Group: "scheduling.x-k8s.io", Version: "v1alpha1"}, "ElasticQuota"
	if kind == client.CapacityQuotas {
		group, kindName = schema.GroupVersion{Group: "autoscaling.x-k8s.io", Version: "v1beta1"}, "CapacityQuota"
	}
	quota := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	quota.SetGroupVersionKind(group.WithKind(kindName))
	quota.SetNamespace(namespace)
	quota.SetName(name)
	quota.SetUID(types.UID(name))
	quota.SetGeneration(generation)
	if err := w.stores[kind].Update(quota); err != nil {
		w.t.Fatal(err)
	}
}

// bounds gives a quota that is shown these min and max.
func (w *quotaWorld) bounds(namespace, name string, least, most map[string]any) {
	object, _, _ := w.stores[client.ElasticQuotas].GetByKey(namespace + "/" + name)
	quota := object.(*unstructured.Unstructured)
	quota.Object["spec"] = map[string]any{"min": least, "max": most}
}

// uses says what headroomd counts of the ElasticQuota `name` in the namespace of that name.
func uses(name string, amounts ...client.QuotaAmount) client.ElasticQuotaState {
	return client.ElasticQuotaState{Namespace: name, Name: name, Amounts: amounts}
}

func cpu(used int64) client.QuotaAmount {
	return client.QuotaAmount{Resource: "cpu", Max: math.MaxInt64, Used: used}
}

// passes lets time pass, with a change of facts every 10 ms.
func (w *quotaWorld) passes(d time.Duration, each func()) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		synctest.Wait() // the controller may look at the same moment
		each()
		w.controller.notice()
	}
	synctest.Wait()
}

func (w *quotaWorld) wantWrites(want ...string) {
	w.t.Helper()
	var have []string
	for _, write := range w.writes {
		have = append(have, write.name+" "+write.status)
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		w.t.Errorf("written: %q, should be: %q", have, want)
	}
	w.writes = nil
}

func TestAQuotasStatusIsWrittenAtMostOnceASecond(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.controller.lead()
		for _, name := range []string{"a", "b"} {
			w.shows(client.ElasticQuotas, name, name, 1, nil)
		}
		n := int64(0)
		w.passes(10*time.Second, func() {
			n++
			w.elastic = []client.ElasticQuotaState{uses("a", cpu(n)), uses("b", cpu(2*n))}
		})
		last := map[string]time.Time{}
		for _, write := range w.writes {
			if before, written := last[write.name]; written && write.at.Sub(before) < time.Second {
				t.Errorf("%s is written again after %v", write.name, write.at.Sub(before))
			}
			last[write.name] = write.at
		}
		if len(w.writes) < 2*9 || len(last) != 2 {
			t.Errorf("%d writes in 10 s of %d quotas", len(w.writes), len(last))
		}
		time.Sleep(quotaInterval)
		synctest.Wait()
		for name, want := range map[string]string{"a": fmt.Sprint(n, "m"), "b": fmt.Sprint(2*n, "m")} {
			object, _, _ := w.stores[client.ElasticQuotas].GetByKey(name + "/" + name)
			have, _, _ := unstructured.NestedMap(object.(*unstructured.Unstructured).Object, "status", "used")
			if !sameAmounts(have, map[string]any{"cpu": want}) {
				t.Errorf("in the end %s has %v, not %s", name, have, want)
			}
		}
	})
}

func TestAQuotasStatusIsWrittenWhereItDiffers(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.controller.lead()
		used := func(amounts map[string]any) map[string]any { return map[string]any{"used": amounts} }
		w.shows(client.ElasticQuotas, "same", "same", 1, used(map[string]any{"cpu": "1500m", "memory": "1024Mi", "pods": int64(2)}))
		w.shows(client.ElasticQuotas, "amount", "amount", 1, used(map[string]any{"cpu": "1"}))
		w.shows(client.ElasticQuotas, "more", "more", 1, used(map[string]any{"cpu": "1", "memory": "1Gi"}))
		w.shows(client.ElasticQuotas, "broken", "broken", 1, used(map[string]any{"cpu": "much"}))
		w.shows(client.CapacityQuotas, "", "new", 1, nil)
		w.shows(client.CapacityQuotas, "", "unused", 1, nil)
		w.elastic = []client.ElasticQuotaState{
			uses("same", cpu(1500), client.QuotaAmount{Resource: "memory", Used: 1 << 30, Max: 2 << 30}, client.QuotaAmount{Resource: "pods", Used: 2, Max: 9}),
			uses("amount", cpu(2000)), uses("more", cpu(1000)), uses("broken", cpu(0)), uses("unknown", cpu(1)),
		}
		w.capacity = []client.CapacityQuotaState{
			{Name: "new", InForce: true, Amounts: []client.QuotaAmount{{Resource: "cpu", Max: 8000, Used: 4000},
				{Resource: "nodes", Max: 3, Used: 1}, {Resource: "nvidia.com/gpu", Max: 3}}},
			{Name: "unused", Invalid: "bad"},
		}
		w.passes(3*time.Second, func() {})
		w.wantWrites(`amount {"used":{"cpu":"2"}}`, `more {"used":{"cpu":"1"}}`, `broken {"used":{"cpu":"0"}}`,
			`new {"used":{"resources":{"cpu":"4","nodes":"1","nvidia.com/gpu":"0"}}}`)
	})
}

func TestAFollowerWritesNothing(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.shows(client.ElasticQuotas, "a", "a", 1, nil)
		w.bounds("a", "a", map[string]any{"cpu": int64(2)}, map[string]any{"cpu": "1"})
		w.elastic = []client.ElasticQuotaState{uses("a", cpu(0))}
		w.controller.refused(client.ElasticQuotas, "a/a", "bad")
		w.passes(3*time.Second, func() {})
		w.wantWrites()
		if len(w.events) > 0 {
			t.Errorf("a follower's events: %q", w.events)
		}
		w.controller.lead()
		time.Sleep(quotaInterval)
		synctest.Wait()
		w.wantWrites(`a {"used":{"cpu":"0"}}`)
		if len(w.events) != 2 {
			t.Errorf("the leader's events: %q", w.events)
		}
	})
}

func TestNobodyIsAskedWhereNothingChanges(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.controller.lead()
		w.shows(client.ElasticQuotas, "a", "a", 1, nil)
		w.passes(time.Second, func() {})
		time.Sleep(2 * quotaInterval)
		w.elastic = []client.ElasticQuotaState{uses("a", cpu(1))} // without a fact
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantWrites()
	})
}

// What the API server says of one quota keeps no other one waiting.
func TestAQuotaThatAnotherManagerWritesIsLeftAlone(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.controller.lead()
		n := int64(0)
		w.answer = func(name string) error {
			if name == "theirs" {
				return apierrors.NewConflict(schema.GroupResource{Resource: "elasticquotas"}, name, errors.New(".status.used.cpu is another's"))
			}
			return nil
		}
		for _, name := range []string{"ours", "theirs"} {
			w.shows(client.ElasticQuotas, name, name, 1, nil)
		}
		w.passes(2*quotaRetry, func() {
			n++
			w.elastic = []client.ElasticQuotaState{uses("theirs", cpu(n)), uses("ours", cpu(n))}
		})
		count := map[string]int{}
		for _, write := range w.writes {
			count[write.name]++
		}
		if count["theirs"] != 2 || count["ours"] < 100 {
			t.Errorf("writes in 2 minutes: %v", count)
		}
		w.answer = nil
		w.writes = nil
		time.Sleep(quotaRetry + 2*quotaInterval) // without another fact
		synctest.Wait()
		if !slices.ContainsFunc(w.writes, func(write quotaWrite) bool { return write.name == "theirs" }) {
			t.Error("it is not tried again")
		}
	})
}

func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	for name, breaks := range map[string]func(w *quotaWorld){
		"the API server is away": func(w *quotaWorld) { w.answer = func(string) error { return errors.New("connection refused") } },
		"headroomd is away":      func(w *quotaWorld) { w.down = client.ErrUnavailable },
	} {
		t.Run(name, func(t *testing.T) {
			inQuotaWorld(t, func(w *quotaWorld) {
				for _, name := range []string{"a", "b"} {
					w.shows(client.ElasticQuotas, name, name, 1, nil)
				}
				w.elastic = []client.ElasticQuotaState{uses("a", cpu(1)), uses("b", cpu(1))}
				breaks(w)
				w.controller.lead()
				time.Sleep(10 * quotaInterval)
				synctest.Wait()
				if len(w.writes) > 11 {
					t.Errorf("%d writes in 10 s", len(w.writes))
				}
				w.answer, w.down, w.writes = nil, nil, nil
				time.Sleep(2 * quotaInterval)
				synctest.Wait()
				w.wantWrites(`a {"used":{"cpu":"1m"}}`, `b {"used":{"cpu":"1m"}}`)
			})
		})
	}
}

func TestEventsTellOfQuotasThatCannotBeUsed(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.controller.lead()
		w.shows(client.ElasticQuotas, "team", "team", 1, nil)
		w.shows(client.ElasticQuotas, "team", "z-second", 1, nil)
		w.shows(client.ElasticQuotas, "team", "bad", 1, nil)
		w.shows(client.CapacityQuotas, "", "old", 2, nil)
		w.shows(client.CapacityQuotas, "", "never", 1, nil)
		w.shows(client.CapacityQuotas, "", "mended", 2, nil)
		w.bounds("team", "team", map[string]any{"cpu": "2500m", "memory": int64(1), "pods": int64(1)}, map[string]any{"cpu": int64(1), "pods": "1"})
		w.elastic = []client.ElasticQuotaState{uses("team", cpu(0)), {Namespace: "other", Name: "deleted"}}
		w.shows(client.ElasticQuotas, "other", "next", 1, nil)
		w.capacity = []client.CapacityQuotaState{{Name: "old", Generation: 2, InForce: true, Invalid: `cpu: "4x" is not a quantity`},
			{Name: "never", Generation: 1, Invalid: "negative"}, {Name: "mended", Generation: 1, Invalid: "negative"}}
		again := func() {
			w.controller.refused(client.ElasticQuotas, "team/bad", "spec.min: beyond int64")
			w.controller.refused(client.ElasticQuotas, "team/gone", "spec.min: bad")
			w.controller.refused(client.Pods, "team/bad", "not a quota")
		}
		want := []string{
			"team QuotaMinAboveMax: cpu: min 2500m is above max 1",
			"z-second QuotaIgnored: The ElasticQuota team counts in this namespace: it comes first by name",
			`old QuotaUnusable: cpu: "4x" is not a quantity. The last spec that could be used stays in force`,
			"never QuotaUnusable: negative. It limits nothing",
			"bad QuotaUnusable: spec.min: beyond int64. What it limited before, if anything, stays in force",
		}
		w.passes(5*time.Second, again)
		wantEvents := func(want ...string) {
			t.Helper()
			if !slices.Equal(w.events, want) {
				t.Errorf("events:\n%s\nshould be:\n%s", strings.Join(w.events, "\n"), strings.Join(want, "\n"))
			}
			w.events = nil
		}
		wantEvents(want...)

		t.Log("another spec is told of anew; one that came after the refusal is not")
		w.controller.refused(client.ElasticQuotas, "team/bad", "spec.min: beyond int64")
		w.shows(client.ElasticQuotas, "team", "bad", 2, nil)
		w.shows(client.ElasticQuotas, "team", "team", 2, nil)
		w.bounds("team", "team", map[string]any{"cpu": "3"}, map[string]any{"cpu": int64(1)})
		w.passes(3*time.Second, func() {})
		wantEvents("team QuotaMinAboveMax: cpu: min 3 is above max 1")
		w.controller.refused(client.ElasticQuotas, "team/bad", strings.Repeat("x", 2*noteBytesMax))
		time.Sleep(2 * quotaInterval)
		synctest.Wait()
		if len(w.events) != 1 || len(w.events[0]) != len("bad QuotaUnusable: ")+noteBytesMax {
			t.Errorf("a long note: %q", w.events)
		}
	})
}

// However many cannot be used, each is told of once, and others in the place of those that are gone.
func TestEventsOfManyQuotasEnd(t *testing.T) {
	inQuotaWorld(t, func(w *quotaWorld) {
		w.controller.lead()
		for i := range quotaEventsKept + 10 {
			name := fmt.Sprintf("team-%04d", i)
			w.shows(client.CapacityQuotas, "", name, 1, nil)
			w.capacity = append(w.capacity, client.CapacityQuotaState{Name: name, Generation: 1, Invalid: "bad"})
		}
		w.passes(5*time.Second, func() {})
		if len(w.events) != quotaEventsKept {
			t.Errorf("%d events", len(w.events))
		}
		w.events = nil
		for _, name := range []string{"team-0000", "team-0001", "team-0002"} {
			object, _, _ := w.stores[client.CapacityQuotas].GetByKey(name)
			_ = w.stores[client.CapacityQuotas].Delete(object)
		}
		w.passes(5*time.Second, func() {})
		if len(w.events) != 3 {
			t.Errorf("%d events in the place of three", len(w.events))
		}
	})
}
