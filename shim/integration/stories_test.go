package integration

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// The user stories of limit-aware-scheduling, resource-limit-aware-node-scoring and
// load-aware-scheduling, with their numbers.

// cores as request and limit.
func cores(request, limit int) lab.PodOption {
	return func(p *v1.Pod) {
		lab.Request("cpu", fmt.Sprint(request))(p)
		lab.Limit("cpu", fmt.Sprint(limit))(p)
	}
}

// node1: pod1 (request 2, limit 6), pod2 (2, 4); node2: pod3 (3, 3), pod4 (2, 2); 8 cores each.
func (c *cluster) twoNodes() {
	c.Helper()
	c.nodes(lab.Node("node1"), lab.Node("node2"))
	c.pods(running(c.ns, "pod1", "node1", cores(2, 6)), running(c.ns, "pod2", "node1", cores(2, 4)),
		running(c.ns, "pod3", "node2", cores(3, 3)), running(c.ns, "pod4", "node2", cores(2, 2)))
}

// pod5 (request 1, limit 4) goes where that engine says.
func pod5GoesTo(t *testing.T, node string, profile lab.SchedulerProfile) {
	c := newCluster(t)
	c.twoNodes()
	c.start(setup{engine: profile, engineScores: true})
	c.pods(c.pod("pod5", cores(1, 4)))
	c.on(c.bound("pod5"), "pod5", node)
	c.feasible(check.Rules{})
}

var cpuOnly = m{"resources": []m{{"name": "cpu", "weight": 1}}}

func TestLimitAwareStory1ScoresByLimits(t *testing.T) {
	t.Run("by requests node1", func(t *testing.T) {
		pod5GoesTo(t, "node1", engine([]string{"NodeResourcesFit"}, []string{"NodeResourcesFit"},
			argsOf("NodeResourcesFit", m{"scoringStrategy": m{"type": "LeastAllocated", "resources": []m{{"name": "cpu", "weight": 1}}}})))
	})
	t.Run("by limits node2", func(t *testing.T) {
		pod5GoesTo(t, "node2", engine([]string{"NodeResourcesFit"}, []string{"LimitAware"}, argsOf("LimitAware", cpuOnly)))
	})
}

func TestResourceLimitAwareUseCaseChoosesNode2(t *testing.T) {
	pod5GoesTo(t, "node2", engine([]string{"NodeResourcesFit"}, []string{"ResourceLimitAware"},
		argsOf("ResourceLimitAware", cpuOnly)))
}

func TestLimitAwareStory2RejectsOverSubscription(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	c.pods(running(c.ns, "pod1", "node1", cores(2, 6)), running(c.ns, "pod2", "node1", cores(2, 4)))
	c.start(setup{engine: engine([]string{"NodeResourcesFit", "LimitAware"}, []string{"LimitAware"},
		argsOf("LimitAware", m{"defaultLimitToAllocatableRatio": m{"cpu": 125}}))})
	rules := check.Rules{LimitRatios: map[v1.ResourceName]int64{"cpu": 125}}

	t.Log("14 > 8 x 125%: pod5 waits; a DaemonSet's pod does not")
	pod5 := c.pod("pod5", cores(1, 4))
	c.pods(pod5)
	c.waits(pod5, "1 Insufficient cpu limit")
	c.pods(c.pod("daemon", lab.Limit("cpu", "1"), lab.Request("cpu", "100m"), lab.OwnedBy("DaemonSet", "agent")))
	c.bound("daemon")
	c.feasible(rules)

	t.Log("without pod1 the limits are 4 + 4 + 1: pod5 wakes")
	c.deletes(c.ns, "pod1")
	c.wakes("pod5")
	c.feasible(rules)

	t.Log("13 more would be 22 of 10; a node whose annotation says 300% takes it")
	pod6 := c.pod("pod6", cores(1, 13))
	c.pods(pod6)
	c.waits(pod6, "Insufficient cpu limit")
	c.nodes(lab.Node("node2", lab.NodeAnnotation("node.koordinator.sh/limit-to-allocatable", `{"cpu": "300%"}`)))
	c.on(c.wakes("pod6"), "pod6", "node2")
	c.feasible(rules)
}

// Nodes of 100 cores and 100Gi, so that usage reads as percent.
func hundred(name string, options ...lab.NodeOption) *v1.Node {
	return lab.Node(name, append([]lab.NodeOption{lab.Allocatable("cpu", "100"), lab.Allocatable("memory", "100Gi")}, options...)...)
}

// reports a node's usage in percent of such a node.
func (c *cluster) reports(node string, cpu, memory int, age time.Duration) {
	c.Helper()
	c.ok(lab.NodeMetric{Node: node, Updated: time.Now().Add(-age),
		Usage: lab.Amounts{"cpu": fmt.Sprint(cpu), "memory": fmt.Sprintf("%dGi", memory)}}.Put(c.ctx, plane))
}

func loadAware(args m) lab.SchedulerProfile {
	return engine([]string{"NodeResourcesFit", "LoadAwareScheduling"}, []string{"LoadAwareScheduling"},
		argsOf("LoadAwareScheduling", args))
}

func loadRules(c *cluster) check.Rules {
	return check.Rules{Load: &check.Load{Thresholds: map[v1.ResourceName]int64{"cpu": 65, "memory": 95},
		Expiration: 180 * time.Second, FilterExpired: true, Began: c.began}}
}

func TestLoadAwareStory1AvoidsHighUtilization(t *testing.T) {
	c := newCluster(t)
	c.nodes(hundred("idle"), hundred("edge"), hundred("busy"), hundred("full"))
	c.reports("idle", 10, 10, 0)
	c.reports("edge", 64, 94, 0)
	c.reports("busy", 65, 10, 0) // cpu 65% is too much,
	c.reports("full", 10, 95, 0) // and memory 95%
	c.start(setup{engine: loadAware(m{"resourceWeights": m{"cpu": 1}}), engineScores: true})
	c.pods(c.pod("first", cores(1, 4)))
	c.on(c.bound("first"), "first", "idle")
	c.feasible(loadRules(c))

	t.Log("nothing but busy and full is left: the pod waits until busy is less so")
	c.reports("idle", 70, 10, 0)
	c.reports("edge", 10, 96, 0)
	second := c.pod("second", cores(1, 4))
	time.Sleep(quiet) // the metrics arrive
	c.pods(second)
	c.waits(second, "node(s) cpu usage exceed threshold", "node(s) memory usage exceed threshold")
	c.reports("busy", 20, 10, 0)
	c.on(c.wakes("second"), "second", "busy")
}

func TestLoadAwareStory2WeighsResourcesApart(t *testing.T) {
	for _, test := range []struct {
		name, node string
		args       m
	}{
		{"weights equal", "cpu-bound", m{}},
		{"cpu weighs 3", "memory-bound", m{"resourceWeights": m{"cpu": 3, "memory": 1}}},
		{"memory weighs 3", "cpu-bound", m{"resourceWeights": m{"cpu": 1, "memory": 3}}},
		{"cpu threshold 50", "memory-bound", m{"usageThresholds": m{"cpu": 50, "memory": 80}}},
		{"memory threshold 50", "cpu-bound", m{"usageThresholds": m{"cpu": 80, "memory": 50}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.nodes(hundred("cpu-bound"), hundred("memory-bound"))
			c.reports("cpu-bound", 60, 10, 0)
			c.reports("memory-bound", 20, 70, 0)
			c.start(setup{engine: loadAware(test.args), engineScores: true})
			c.pods(c.pod("new", lab.Limit("cpu", "1"), lab.Limit("memory", "1Gi")))
			c.on(c.bound("new"), "new", test.node)
		})
	}
}

func TestLoadAwareStory3CountsPodsBeforeTheyAreReported(t *testing.T) {
	c := newCluster(t)
	c.nodes(hundred("cold"), hundred("warm"))
	report := func(node string, cpu int) {
		c.ok(lab.NodeMetric{Node: node, Updated: time.Now(), ReportInterval: time.Second,
			Usage: lab.Amounts{"cpu": fmt.Sprint(cpu), "memory": "10Gi"}}.Put(c.ctx, plane))
	}
	report("cold", 10)
	report("warm", 30)
	c.start(setup{engine: loadAware(m{"resourceWeights": m{"cpu": 1}}), engineScores: true})
	for _, name := range numbered("p", 40) {
		c.pods(c.pod(name, lab.Limit("cpu", "1"), lab.Request("cpu", "10m")))
	}
	count := map[string]int{}
	for _, node := range c.bound() {
		count[node]++
	}
	if count["cold"] != 30 || count["warm"] != 10 { // 10 + 30 = 30 + 10
		t.Errorf("cold and warm should have 30 and 10 of the pods: %v", count)
	}

	t.Log("the next report holds what those pods really use: 20 and 22, not 50 and 32")
	time.Sleep(3 * time.Second)
	report("cold", 20)
	report("warm", 22)
	time.Sleep(quiet)
	c.pods(c.pod("new", lab.Limit("cpu", "1"), lab.Request("cpu", "10m")))
	c.on(c.bound("new"), "new", "cold")
}

func TestLoadAwareStory4AvoidsSilentNodes(t *testing.T) {
	c := newCluster(t)
	c.nodes(hundred("silent"), hundred("reports"))
	c.reports("silent", 10, 10, 0)
	c.reports("reports", 50, 10, 0)
	const expires = 4
	c.start(setup{engine: loadAware(m{"resourceWeights": m{"cpu": 1}, "nodeMetricExpirationSeconds": expires}), engineScores: true})
	c.reports("silent", 10, 10, 0)
	time.Sleep(200 * time.Millisecond)
	c.pods(c.pod("first", cores(1, 1)))
	c.on(c.bound("first"), "first", "silent")

	t.Log("time alone makes it silent")
	time.Sleep((expires + 1) * time.Second)
	c.reports("reports", 50, 10, 0)
	time.Sleep(200 * time.Millisecond)
	c.pods(c.pod("second", cores(1, 1)))
	c.on(c.bound("second"), "second", "reports")

	t.Log("all are silent: the pod waits for the next report")
	time.Sleep((expires + 1) * time.Second)
	third := c.pod("third", cores(1, 1))
	c.pods(third)
	c.waits(third, "expired")
	c.reports("silent", 10, 10, 0)
	c.on(c.wakes("third"), "third", "silent")
}
