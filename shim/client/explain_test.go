package client

import (
	"context"
	"testing"

	"headroom.dev/shim/wire"
)

func TestExplain(t *testing.T) {
	ctx := context.Background()
	d := fed(t, newStore(testNode("n1", "4"), testNode("n2", "8")), newStore(testPod("old", "3", "n1")))
	c := newClient(t, d.address, Options{Name: "person"})
	pod := testPod("new", "2", "")
	// find is the term of the plugin there, about the resource.
	find := func(e *Explanation, plugin, point, resource string) *ExplainTerm {
		for i, term := range e.Terms {
			if term.Plugin == plugin && term.ExtensionPoint == point && term.Resource == resource {
				return &e.Terms[i]
			}
		}
		t.Errorf("no %s of %s about %q in %+v", point, plugin, resource, e.Terms)
		return &ExplainTerm{}
	}

	full, err := c.Explain(ctx, pod, "n1")
	if err != nil || full.Code != wire.CodeUnschedulable || full.Epoch == 0 {
		t.Fatalf("a node without room: %+v, %v", full, err)
	}
	if cpu := find(full, "NodeResourcesFit", "Filter", "cpu"); cpu.Passed || cpu.Capacity != 4000 || cpu.Aggregate != 3000 || cpu.Need != 2000 {
		t.Errorf("its cpu: %+v", cpu)
	}

	var decision Decision
	if err := c.Evaluate(ctx, pod, EvaluateOptions{TopK: 1}, &decision); err != nil {
		t.Fatal(err)
	}
	free, err := c.Explain(ctx, pod, "n2")
	if err != nil || free.Code != wire.CodeSuccess || free.Total != decision.Candidates[0].Total {
		t.Fatalf("a node with room, of the total %d: %+v, %v", decision.Candidates[0].Total, free, err)
	}
	if cpu := find(free, "NodeResourcesFit", "Filter", "cpu"); !cpu.Passed {
		t.Errorf("its cpu: %+v", cpu)
	}
	if _, err := c.Explain(ctx, pod, "n9"); !isServerError(err, wire.ErrorCodeNotFound) {
		t.Errorf("a node that is not there: %v", err)
	}
}
