package integration

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/lab"
)

// A pod that waits wakes within seconds of the change that makes room for it; the queue alone would let
// it sleep for five minutes.

func TestWakesWhenANodeComes(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	c.pods(running(c.ns, "holds", "node1", cores(1, 8)))
	c.start(setup{engine: limitsTo(100)})
	pod := c.pod("waits", cores(1, 1))
	c.pods(pod)
	c.waits(pod, "Insufficient cpu limit")
	c.nodes(lab.Node("node2"))
	c.on(c.wakes("waits"), "waits", "node2")
	c.feasible(limitRules(100))
}

// patchNode with a strategic merge patch; parts may be "status".
func (c *cluster) patchNode(name, patch string, parts ...string) {
	c.Helper()
	_, err := plane.Client.CoreV1().Nodes().Patch(c.ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, parts...)
	c.ok(err)
}

func TestWakesWhenANodeChanges(t *testing.T) {
	for _, test := range []struct {
		name, message string
		node          lab.NodeOption
		pod           lab.PodOption
		change        func(*cluster)
	}{
		{"annotation", "Insufficient cpu limit", lab.NodeLabel("a", "b"), cores(1, 12), func(c *cluster) {
			c.patchNode("node1", `{"metadata": {"annotations": {"node.koordinator.sh/limit-to-allocatable": "{\"cpu\": 200}"}}}`)
		}},
		{"allocatable", "Insufficient cpu", lab.NodeLabel("a", "b"), cores(9, 9), func(c *cluster) {
			c.patchNode("node1", `{"status": {"allocatable": {"cpu": "16"}}}`, "status")
		}},
		{"label", "node affinity", lab.NodeLabel("a", "b"), lab.Select("a", "c"), func(c *cluster) {
			c.patchNode("node1", `{"metadata": {"labels": {"a": "c"}}}`)
		}},
		{"taint", "untolerated taint", lab.Taint("key", "value", v1.TaintEffectNoSchedule), cores(1, 1), func(c *cluster) {
			c.patchNode("node1", `{"spec": {"taints": null}}`)
		}},
		{"cordon", "unschedulable", lab.Cordoned(), cores(1, 1), func(c *cluster) {
			c.patchNode("node1", `{"spec": {"unschedulable": false}}`)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.nodes(lab.Node("node1", test.node))
			c.start(setup{engine: limitsTo(100)})
			pod := c.pod("waits", test.pod)
			c.pods(pod)
			c.waits(pod, test.message)
			test.change(c)
			c.wakes("waits")
			c.feasible(limitRules(100))
		})
	}
}

func TestWakesWhenANodeMetricComesOrChanges(t *testing.T) {
	c := newCluster(t)
	c.nodes(hundred("node1"))
	c.reports("node1", 90, 10, 0)
	c.start(setup{engine: loadAware(m{})})
	pod := c.pod("waits", cores(1, 1))
	c.pods(pod)
	c.waits(pod, "cpu usage exceed threshold")
	c.reports("node1", 40, 10, 0)
	c.wakes("waits")
	c.feasible(loadRules(c))
}

func TestWakesWhenAnElasticQuotaChanges(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	team := c.team("team", "cpu", "2", "2")
	c.start(withElasticQuotas)
	c.run(lab.Pod(team, "first", amount("cpu", "2")))
	pod := lab.Pod(team, "waits", amount("cpu", "1"))
	c.pods(pod)
	c.waits(pod, "is more than max 2")
	c.ok(lab.ElasticQuota{Namespace: team, Name: "team", Min: lab.Amounts{"cpu": "4"}, Max: lab.Amounts{"cpu": "4"}}.Put(c.ctx, plane))
	_, err := plane.AwaitBound(c.ctx, wakePatience, team, "waits")
	c.ok(err)
	t.Log("and when a pod of the quota goes")
	last := lab.Pod(team, "last", amount("cpu", "2"))
	c.pods(last)
	c.waits(last, "is more than max 4")
	c.deletes(team, "first")
	_, err = plane.AwaitBound(c.ctx, wakePatience, team, "last")
	c.ok(err)
	c.feasible(elasticQuotaRules)
}

func TestWakesWhenAPodIsDeleted(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 3, nil)...)
	for i, name := range numbered("node", 3) {
		c.pods(running(c.ns, fmt.Sprintf("holds-%d", i), name, cores(1, 8)))
	}
	c.start(setup{engine: limitsTo(100)})
	names := numbered("waits", 12)
	for _, name := range names {
		c.pods(c.pod(name, cores(1, 2)))
	}
	c.waits(c.pod(names[11]), "3 Insufficient cpu limit")
	for i, want := range []int{4, 8, 12} {
		c.deletes(c.ns, fmt.Sprintf("holds-%d", i))
		// Of those that hold a node 2, 1 and 0 are left.
		c.ok(lab.Eventually(c.ctx, wakePatience, func() error { return c.boundCount(want + 2 - i) }))
	}
	c.feasible(limitRules(100))
}
