package integration

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// A plugin that hands the best K names to kube-scheduler can leave pods hanging until the queue's flush
// after five minutes: wherever other filters, other names or preemption look beyond those K. The engine
// here knows as little as possible, so that the names are as wrong as they can be.

const few = 4 // topK

// onlyFit is an engine that knows requests and nothing else: it prefers empty nodes.
func onlyFit() lab.SchedulerProfile {
	return engine([]string{"NodeResourcesFit"}, []string{"NodeResourcesFit"})
}

// lures are nodes that the engine likes better than any other: they are larger.
func lures(n int, zone string) []*v1.Node {
	return lab.UniformNodes("lure", n, []string{zone}, lab.Allocatable("cpu", "64"), lab.Allocatable("memory", "256Gi"))
}

// within this a pod must be bound, far below the flush.
const trapPatience = 40 * time.Second

func (c *cluster) escapes(names ...string) lab.Placed {
	c.Helper()
	placed, err := plane.AwaitBound(c.ctx, trapPatience, c.ns, names...)
	c.ok(err)
	return placed
}

func TestTrapZoneSelectedNamesInAnother(t *testing.T) {
	for name, profile := range map[string]lab.SchedulerProfile{
		"engine without NodeAffinity": onlyFit(),
		"engine with NodeAffinity":    standard(),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.nodes(lures(50, "a")...)
			c.nodes(lab.UniformNodes("node", 5, []string{"b"})...)
			c.start(setup{engine: profile, args: lab.HeadroomArgs{TopK: few}})
			for _, name := range numbered("in-b", 20) {
				c.pods(c.pod(name, lab.Request("cpu", "1"), lab.SelectZone("b")))
			}
			c.escapes()
			c.feasible(check.Rules{})
		})
	}
}

func TestTrapAnotherPluginsNamesHaveNoneInCommon(t *testing.T) {
	c := newCluster(t)
	c.nodes(lures(50, "a")...)
	c.nodes(lab.Node("wanted"))
	c.start(setup{engine: onlyFit(), args: lab.HeadroomArgs{TopK: few}})
	for _, name := range numbered("by-name", 4) {
		c.pods(c.pod(name, lab.Request("cpu", "1"), lab.RequireNodeName("wanted")))
	}
	for pod, node := range c.escapes() {
		if node != "wanted" {
			t.Errorf("pod %s is on %s", pod, node)
		}
	}
	c.feasible(check.Rules{})
}

// nominate sets what a preemption of an earlier life of the scheduler left behind.
func (c *cluster) nominate(pod, node string) {
	c.Helper()
	object := c.getPod(c.ns, pod)
	object.Status.NominatedNodeName = node
	_, err := plane.Client.CoreV1().Pods(c.ns).UpdateStatus(c.ctx, object, metav1.UpdateOptions{})
	c.ok(err)
}

func TestTrapNominatedNodeOutsideTheNames(t *testing.T) {
	c := newCluster(t)
	c.nodes(lures(50, "a")...)
	c.nodes(lab.Node("nominated"), lab.Node("full"))
	c.pods(running(c.ns, "holds-full", "full", cores(1, 8)))
	c.pods(c.pod("may", cores(1, 1)), c.pod("may-not", cores(1, 1)))
	c.nominate("may", "nominated")
	c.nominate("may-not", "full") // which is full by limits: only Headroom knows
	// They are tried before headroomd has its facts, and do not lose their nominations by that.
	c.start(setup{engine: limitsTo(100), args: lab.HeadroomArgs{TopK: few}})
	placed := c.escapes("may", "may-not")
	c.on(placed, "may", "nominated")
	if placed["may-not"] == "full" {
		t.Error("may-not is on the node that is full by limits")
	}
	c.feasible(limitRules(100))
}

// All nodes but one hold pods that keep the pod away and are more important than it; the engine knows
// nothing of that, and likes the others better.
func TestTrapPreemptionBeyondTheNames(t *testing.T) {
	c := newCluster(t)
	c.nodes(lures(40, "a")...)
	c.nodes(lab.Node("victim-here"))
	for _, name := range numbered("lure", 40) {
		c.pods(running(c.ns, "on-"+name, name, lab.PodLabel("app", "x"), lab.Priority(1000), lab.Request("cpu", "1")))
	}
	c.pods(running(c.ns, "victim", "victim-here", lab.PodLabel("app", "x"), lab.Priority(1), lab.Request("cpu", "1")))
	c.start(setup{engine: onlyFit(), args: lab.HeadroomArgs{TopK: few}})
	c.gone(c.ns, "victim")
	c.pods(c.pod("urgent", lab.Request("cpu", "1"), lab.Priority(100), lab.ApartFrom(v1.LabelHostname, "app", "x")))
	c.on(c.escapes("urgent"), "urgent", "victim-here")
	pods, err := plane.Pods(c.ctx, c.ns)
	c.ok(err)
	if len(pods) != 41 {
		t.Errorf("%d pods are left, not 40 and the preemptor", len(pods))
	}
	c.feasible(check.Rules{})
}

// The same where nodes are full by requests, which the engine knows: none is feasible, and preemption
// must look at all of them.
func TestTrapPreemptionWhereNoNodeFits(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 40, nil)...)
	for i, name := range numbered("node", 40) {
		priority := int32(1000)
		if i == 33 {
			priority = 1
		}
		c.pods(running(c.ns, "on-"+name, name, lab.Request("cpu", "8"), lab.Priority(priority)))
	}
	c.start(setup{engine: onlyFit(), args: lab.HeadroomArgs{TopK: few}})
	c.gone(c.ns, "on-node-0033")
	c.pods(c.pod("urgent", lab.Request("cpu", "1"), lab.Priority(100)))
	c.on(c.escapes("urgent"), "urgent", "node-0033")
	c.feasible(check.Rules{})
}

// All names are rejected by a filter that the engine does not know, and on each of these nodes somebody
// less important could go; but there are nodes beyond the names where nobody has to.
func TestTrapNobodyIsPreemptedWhileOtherNodesAreFree(t *testing.T) {
	for name, conflict := range map[string]lab.PodOption{
		"host port": lab.HostPort(8080),
		"anti-affinity": func(p *v1.Pod) {
			lab.PodLabel("app", "x")(p)
			lab.ApartFrom(v1.LabelHostname, "app", "x")(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.nodes(lures(60, "a")...)
			c.nodes(lab.UniformNodes("node", 5, []string{"b"})...)
			for _, name := range numbered("lure", 60) {
				c.pods(running(c.ns, "on-"+name, name, conflict, lab.Request("cpu", "1")))
			}
			c.start(setup{engine: onlyFit(), args: lab.HeadroomArgs{TopK: few}})
			c.pods(c.pod("urgent", conflict, lab.Request("cpu", "1"), lab.Priority(100)))
			c.escapes("urgent")
			pods, err := plane.Pods(c.ctx, c.ns)
			c.ok(err)
			if len(pods) != 61 {
				t.Errorf("%d of 61 pods are left: somebody was preempted", len(pods))
			}
			c.feasible(check.Rules{})
		})
	}
}

func TestTrapPodsApartSpreadAndTogetherAmong1000Nodes(t *testing.T) {
	c := newCluster(t)
	c.nodes(lures(900, "a")...)
	c.nodes(lab.UniformNodes("node", 100, []string{"b", "c"})...)
	c.pods(running(c.ns, "anchor", "node-0077", lab.PodLabel("app", "anchor"), lab.Request("cpu", "1")))
	c.start(setup{engine: onlyFit(), args: lab.HeadroomArgs{TopK: few}})
	var pods []*v1.Pod
	for _, name := range numbered("apart", 30) {
		pods = append(pods, c.pod(name, lab.Request("cpu", "1"), lab.PodLabel("app", "apart"), lab.ApartFrom(v1.LabelHostname, "app", "apart")))
	}
	for _, name := range numbered("apart-zones", 3) {
		pods = append(pods, c.pod(name, lab.Request("cpu", "1"), lab.PodLabel("app", "zones"), lab.ApartFrom(v1.LabelTopologyZone, "app", "zones")))
	}
	for _, name := range numbered("spread", 30) {
		pods = append(pods, c.pod(name, lab.Request("cpu", "1"), lab.PodLabel("app", "spread"), lab.Spread(v1.LabelTopologyZone, 1, "app", "spread")))
	}
	for _, name := range numbered("beside", 5) {
		pods = append(pods, c.pod(name, lab.Request("cpu", "1"), lab.BesidePods(v1.LabelHostname, "app", "anchor")))
	}
	began := time.Now()
	c.pods(pods...)
	placed := c.escapes()
	t.Logf("%d pods bound after %v", len(pods), time.Since(began).Round(10*time.Millisecond))
	for _, name := range numbered("beside", 5) {
		c.on(placed, name, "node-0077")
	}
	c.feasible(check.Rules{})
}

func TestTrapHostPortsSpreadOverNodes(t *testing.T) {
	for name, profile := range map[string]lab.SchedulerProfile{
		"engine without NodePorts": onlyFit(),
		"standard engine":          standard(),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.nodes(lab.UniformNodes("node", 30, nil)...)
			c.start(setup{engine: profile, args: lab.HeadroomArgs{TopK: few}})
			var pods []*v1.Pod
			for _, name := range numbered("port", 30) {
				pods = append(pods, c.pod(name, lab.Request("cpu", "100m"), lab.HostPort(8080)))
			}
			c.pods(pods...)
			c.escapes()
			one := c.pod("one-too-many", lab.Request("cpu", "100m"), lab.HostPort(8080))
			c.pods(one)
			c.waits(one, "free ports")
			c.deletes(c.ns, "port-0007")
			c.wakes("one-too-many")
			c.feasible(check.Rules{})
		})
	}
}

// Identical pods with K = 1: a batch, or a stale answer, would put them all on one node.
func TestTrapIdenticalPodsWithOneName(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 20, nil)...)
	c.start(setup{engine: limitsTo(100), engineScores: true, args: lab.HeadroomArgs{TopK: 1}})
	var pods []*v1.Pod
	for _, name := range numbered("same", 60) {
		pods = append(pods, c.pod(name, lab.Request("cpu", "100m"), lab.Limit("cpu", "2"), lab.Request("memory", "1Gi")))
	}
	c.pods(pods...)
	count := map[string]int{}
	for _, node := range c.escapes() {
		count[node]++
	}
	for node, n := range count {
		if n != 3 {
			t.Errorf("node %s has %d of 60 pods, not 3 as every other", node, n)
		}
	}
	c.feasible(limitRules(100))
}
