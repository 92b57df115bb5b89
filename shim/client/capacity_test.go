package client

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// nodeOf is one of a node pool, with as much capacity as it has allocatable.
func nodeOf(name, cpu string) *v1.Node {
	node := testNode(name, cpu)
	node.Labels = map[string]string{"pool": "a"}
	node.Status.Capacity = node.Status.Allocatable
	return node
}

// isServerError tells whether the server answered with that code.
func isServerError(err error, code wire.ErrorCode) bool {
	var its *ServerError
	return errors.As(err, &its) && its.Code == code
}

func TestCapacity(t *testing.T) {
	d := startHeadroomd(t)
	ctx := context.Background()
	c := newClient(t, d.address, Options{Name: "autoscaler"})
	like := []CapacityItem{{Node: nodeOf("", "4"), Count: 5}}
	if _, err := c.CapacityCheck(ctx, like, CapacityCheckOptions{}); !isServerError(err, wire.ErrorCodeConflict) {
		t.Fatalf("before the facts are complete: %v", err)
	}

	w := newWatched(d.address, Nodes, CapacityQuotas)
	w.stores[Nodes].put(nodeOf("n1", "4"))
	w.stores[CapacityQuotas].put(quota("", "pool", limits(map[string]any{"nodes": "4", "cpu": "100"})))
	w.stores[CapacityQuotas].put(quota("", "bad", limits(map[string]any{"cpu": "4x"})))
	run(t, w.Feeder)
	eventually(t, "the first state", func() bool { return w.last().Ready })

	checked, err := c.CapacityCheck(ctx, like, CapacityCheckOptions{})
	if err != nil || len(checked.Answers) != 1 || checked.Answers[0].Allowed != 3 {
		t.Fatalf("%+v, %v", checked, err)
	}
	rows := []CapacityRow{
		{Quota: "CapacityQuota/pool", Resource: "cpu", Limit: 100_000, Used: 4_000, Need: 20_000, Headroom: 96_000, MaxNodes: 24},
		{Quota: "CapacityQuota/pool", Resource: "nodes", Limit: 4, Used: 1, Need: 5, Headroom: 3, Shortfall: 2, MaxNodes: 3, Binding: true},
	}
	if !reflect.DeepEqual(checked.Answers[0].Rows, rows) {
		t.Errorf("rows: %+v", checked.Answers[0].Rows)
	}
	if skipped := checked.Skipped.List; len(skipped) != 1 || skipped[0].Quota != "CapacityQuota/bad" || skipped[0].Why == "" {
		t.Errorf("skipped: %+v", checked.Skipped)
	}
	binding, err := c.CapacityCheck(ctx, like, CapacityCheckOptions{BindingOnly: true})
	if err != nil || !reflect.DeepEqual(binding.Answers[0].Rows, rows[1:]) {
		t.Errorf("those that bind: %+v, %v", binding, err)
	}

	planned, err := c.CapacityPlan(ctx, []CapacityItem{{Node: nodeOf("", "4"), Count: 4}}, []string{"n1"})
	if err != nil || planned.NetBreak != nil || planned.PeakBreak == nil || planned.PeakBreak.Fits != 3 || len(planned.Rows) != 2 {
		t.Fatalf("%+v, %v", planned, err)
	}
	if got := planned.Rows[1]; got != (PlanRow{Quota: "CapacityQuota/pool", Resource: "nodes", Limit: 4, Used: 1, Added: 4,
		Removed: 1, Net: 4, Peak: 5}) {
		t.Errorf("the plan's nodes: %+v", got)
	}
	if _, err := c.CapacityPlan(ctx, nil, []string{"n9"}); !isServerError(err, wire.ErrorCodeNotFound) {
		t.Errorf("a node that is not there: %v", err)
	}

	reserve := CapacityReserve{ID: "scale-up-1", Items: like, Expires: time.Now().Add(time.Hour)}
	reserved, err := c.CapacityReserve(ctx, reserve)
	if err != nil || reserved.Accepted || reserved.Stopped == nil || reserved.Stopped.Fits != 3 {
		t.Fatalf("all or none: %+v, %v", reserved, err)
	}
	reserve.UpTo = true
	reserved, err = c.CapacityReserve(ctx, reserve)
	if err != nil || !reserved.Accepted || !reflect.DeepEqual(reserved.Allowed, []int64{3}) || reserved.Now.After(time.Now().Add(time.Minute)) {
		t.Fatalf("as many as fit: %+v, %v", reserved, err)
	}
	if _, err := c.CapacityReserve(ctx, reserve); !isServerError(err, wire.ErrorCodeConflict) {
		t.Errorf("the id is live: %v", err)
	}
	if checked, err := c.CapacityCheck(ctx, like, CapacityCheckOptions{}); err != nil || checked.Answers[0].Allowed != 0 ||
		checked.Answers[0].Rows[1].Reserved != 3 {
		t.Errorf("while they are held: %+v, %v", checked, err)
	}
	for _, live := range []bool{true, false} {
		if released, err := c.CapacityRelease(ctx, reserve.ID); err != nil || released != live {
			t.Errorf("released: %v, %v", released, err)
		}
	}
	if checked, err := c.CapacityCheck(ctx, like, CapacityCheckOptions{}); err != nil || checked.Answers[0].Allowed != 3 {
		t.Errorf("given back: %+v, %v", checked, err)
	}

	for what, bad := range map[string][]CapacityItem{
		"none": nil, "a count below 0": {{Node: nodeOf("", "4"), Count: -1}}, "too many": make([]CapacityItem, math.MaxUint16)} {
		for i := range bad {
			if bad[i].Node == nil {
				bad[i].Node = &v1.Node{}
			}
		}
		var server *ServerError
		if _, err := c.CapacityCheck(ctx, bad, CapacityCheckOptions{}); !errors.As(err, &server) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
