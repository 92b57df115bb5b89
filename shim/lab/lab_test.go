package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// One story of all that the lab can do, with stock kube-scheduler: starting takes most of the time.
func TestStockSchedulerInALab(t *testing.T) {
	ctx := t.Context()
	l := ForTest(t)
	plane := must[*ControlPlane](t)(l.StartControlPlane(ctx))
	ok(t, plane.CreateNodes(ctx, UniformNodes("node", 20, []string{"a", "b"})...))
	scheduler := must[*Scheduler](t)(l.StartScheduler(ctx, plane, SchedulerOptions{Stock: true}))

	ok(t, plane.CreateNamespaces(ctx, "one", "two"))
	ok(t, plane.CreatePods(ctx,
		Pod("one", "plain", Request("cpu", "1")),
		Pod("one", "zone-b", Request("cpu", "1"), SelectZone("b"), Priority(-7)),
		Pod("one", "on-hand", Limit("cpu", "1"), OnNode("node-0003")),
		Pod("one", "too-large", Request("cpu", "9"))))
	placed := must[Placed](t)(plane.AwaitBound(ctx, 10*time.Second, "one", "plain", "zone-b", "on-hand"))
	if placed["on-hand"] != "node-0003" {
		t.Errorf("on-hand is on %s", placed["on-hand"])
	}
	var number int
	if _, err := fmt.Sscanf(placed["zone-b"], "node-%04d", &number); err != nil || number%2 != 1 {
		t.Errorf("zone-b is on %s", placed["zone-b"])
	}
	ok(t, plane.AwaitRejected(ctx, 10*time.Second, "one", "too-large", "20 Insufficient cpu"),
		plane.StaysPending(ctx, 200*time.Millisecond, "one", "too-large"))
	if _, err := plane.AwaitBound(ctx, 0, "one"); err == nil || !strings.Contains(err.Error(), "too-large") {
		t.Errorf("too-large should be told: %v", err)
	}

	ok(t, NodeMetric{Node: "node-0001", Updated: time.Now(), Usage: Amounts{"cpu": "1"}}.Put(ctx, plane),
		NodeMetric{Node: "node-0001", Updated: time.Now(), Usage: Amounts{"cpu": "2"}}.Put(ctx, plane),
		ElasticQuota{Namespace: "one", Name: "quota", Min: Amounts{"cpu": "1"}}.Put(ctx, plane))

	usage := must[Usage](t)(scheduler.Usage())
	if usage.CPU <= 0 || usage.PeakRSS < 10<<20 {
		t.Errorf("usage of the scheduler: %+v", usage)
	}

	ok(t, plane.APIServer.Restart(ctx), plane.CreatePods(ctx, Pod("two", "after", Request("cpu", "1"))))
	must[Placed](t)(plane.AwaitBound(ctx, 20*time.Second, "two"))
	scheduler.Kill()
	ok(t, plane.CreatePods(ctx, Pod("two", "nobody", Request("cpu", "1"))),
		plane.StaysPending(ctx, 300*time.Millisecond, "two", "nobody"),
		scheduler.Start(ctx))
	must[Placed](t)(plane.AwaitBound(ctx, 20*time.Second, "two"))
	ok(t, scheduler.Stop(), plane.Clear(ctx))
	if pods := must[[]string](t)(podNames(ctx, plane)); len(pods) > 0 {
		t.Errorf("after Clear: %v", pods)
	}
}

func podNames(ctx context.Context, plane *ControlPlane) ([]string, error) {
	pods, err := plane.Pods(ctx, "")
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names, err
}

// What does not become ready says why.
func TestLogTailIsShown(t *testing.T) {
	l := ForTest(t)
	plane := must[*ControlPlane](t)(l.StartControlPlane(t.Context()))
	_, err := l.StartScheduler(t.Context(), plane, SchedulerOptions{Stock: true, Args: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("the error should end with the log: %v", err)
	}
}
