package integration

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/lab"
)

// fails writes the pod's status as its kubelet does. There is none here.
func (c *cluster) fails(pod, reason string) {
	c.Helper()
	patch := fmt.Sprintf(`{"status": {"phase": "Failed", "reason": %q, "message": "Pod was rejected"}}`, reason)
	_, err := plane.Client.CoreV1().Pods(c.ns).Patch(c.ctx, pod, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	c.ok(err)
}

// counts waits until the scheduler's metric is above the value.
func (c *cluster) counts(series string, above float64) {
	c.Helper()
	c.ok(lab.Eventually(c.ctx, patience, func() error {
		text, err := c.scheduler.MetricsText(c.ctx)
		if err == nil && !metricAbove(text, series, above) {
			err = errors.New(series + " is not above " + fmt.Sprint(above))
		}
		return err
	}))
}

func TestAPodThatItsKubeletRejectsIsCountedAndMadeRoomOf(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	c.start(setup{engine: limitsTo(100)})
	c.pods(c.pod("first", cores(1, 6)), c.pod("evicted", cores(1, 1)))
	c.bound("first", "evicted")
	next := c.pod("next", cores(1, 6))
	c.pods(next)
	c.waits(next, "Insufficient cpu limit")

	t.Log("the kubelet finds that others have filled its node; and another pod fails for a reason of its own")
	c.fails("evicted", "Evicted")
	c.fails("first", "OutOfcpu")
	c.counts(`headroom_scheduler_conflicts_total{reason="OutOfcpu"}`, 0)
	c.on(c.wakes("next"), "next", "node1")
	text, err := c.scheduler.MetricsText(c.ctx)
	c.ok(err)
	if metricAbove(text, `headroom_scheduler_conflicts_total{reason="OutOfcpu"}`, 1) {
		t.Error("counted more than once")
	}
	for _, reason := range []string{"reserve", "OutOfmemory", "extended_resource"} {
		if metricAbove(text, fmt.Sprintf(`headroom_scheduler_conflicts_total{reason=%q}`, reason), 0) {
			t.Error(reason, "is counted without such a conflict")
		}
	}
}
