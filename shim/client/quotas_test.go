package client

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/wire"
)

// quota is a custom resource with that spec.
func quota(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "spec": spec}}
}

func limits(amounts map[string]any) map[string]any {
	return map[string]any{"limits": map[string]any{"resources": amounts}}
}

func TestQuotas(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(profile, []byte(readsAll), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startHeadroomd(t, "--profile", profile)
	w := newWatched(d.address, Nodes, Pods, ElasticQuotas, CapacityQuotas)
	w.stores[Nodes].put(testNode("n1", "4"))
	pod := testPod("a", "1", "n1")
	w.stores[Pods].put(pod)
	const many = 1500 // more than kQuotasPerReplyMax
	for i := range many {
		name := fmt.Sprintf("team-%04d", i)
		w.stores[ElasticQuotas].put(quota(name, "quota", map[string]any{"min": map[string]any{"memory": "1Gi"}}))
		w.stores[CapacityQuotas].put(quota("", name, limits(map[string]any{"nodes": "3"})))
	}
	w.stores[ElasticQuotas].put(quota(pod.Namespace, "first", map[string]any{"min": map[string]any{"cpu": "500m"}, "max": map[string]any{"cpu": "2"}}))
	w.stores[ElasticQuotas].put(quota(pod.Namespace, "second", map[string]any{}))
	w.stores[CapacityQuotas].put(quota("", "bad", limits(map[string]any{"cpu": "4x"})))
	run(t, w.Feeder)
	eventually(t, "the first state", func() bool { return w.last().Ready })
	c := newClient(t, d.address, Options{Name: "test"})

	elastic, err := c.ElasticQuotas(context.Background())
	if err != nil || len(elastic) != many+1 {
		t.Fatalf("%d ElasticQuotas, %v", len(elastic), err)
	}
	seen := map[string]ElasticQuotaState{}
	for _, state := range elastic {
		seen[state.Namespace+"/"+state.Name] = state
	}
	if got := seen["team-1499/quota"].Amounts; len(seen) != many+1 ||
		!reflect.DeepEqual(got, []QuotaAmount{{Resource: "memory", Min: 1 << 30, Max: math.MaxInt64}}) {
		t.Errorf("%d of them; the last one's: %+v", len(seen), got)
	}
	if got := seen[pod.Namespace+"/first"].Amounts; len(got) == 0 || got[0] != (QuotaAmount{Resource: "cpu", Min: 500, Max: 2000, Used: 1000}) {
		t.Errorf("with a pod: %+v", got)
	}

	capacity, err := c.CapacityQuotas(context.Background())
	if err != nil || len(capacity) != many+1 {
		t.Fatalf("%d CapacityQuotas, %v", len(capacity), err)
	}
	if bad := capacity[0]; bad.Name != "bad" || bad.InForce || bad.Invalid == "" {
		t.Errorf("a bad one: %+v", bad)
	}
	if got := capacity[many]; got.Name != "team-1499" || !got.InForce || got.Invalid != "" ||
		!reflect.DeepEqual(got.Amounts, []QuotaAmount{{Resource: "nodes", Max: 3, Used: 1}}) {
		t.Errorf("the last one: %+v", got)
	}
}

// A server that says that more is to come, and sends nothing, is not asked for ever.
func TestAnEmptyPageOfQuotasIsAnError(t *testing.T) {
	fake := startFake(t, func(p *peer) {
		p.greet(7)
		for {
			request, ok := p.next()
			if !ok {
				return
			}
			if request.bodyType == wire.BodyElasticQuotaStatus {
				p.reply(request.id, wire.BodyElasticQuotaStatusReply, func(e *encoder) flatbuffers.UOffsetT {
					wire.ElasticQuotaStatusReplyStart(e.b)
					wire.ElasticQuotaStatusReplyAddMore(e.b, true)
					return wire.ElasticQuotaStatusReplyEnd(e.b)
				})
				continue
			}
			p.reply(request.id, wire.BodyCapacityQuotaStatusReply, func(e *encoder) flatbuffers.UOffsetT {
				wire.CapacityQuotaStatusReplyStart(e.b)
				wire.CapacityQuotaStatusReplyAddMore(e.b, true)
				return wire.CapacityQuotaStatusReplyEnd(e.b)
			})
		}
	})
	c := newClient(t, fake.address, Options{Name: "test"})
	if all, err := c.ElasticQuotas(context.Background()); err == nil {
		t.Errorf("ElasticQuotas: %v", all)
	}
	if all, err := c.CapacityQuotas(context.Background()); err == nil {
		t.Errorf("CapacityQuotas: %v", all)
	}
}
