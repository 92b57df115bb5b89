package integration

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// The stories and examples of capacity-scheduling, with their numbers.

const gpu = "nvidia.com/gpu"

var withElasticQuotas = setup{
	engine: lab.SchedulerProfile{Plugins: map[string]lab.PluginSet{"multiPoint": {
		Enabled: lab.Plugins("CapacityScheduling")}}},
	elasticQuotas: true,
}

// team is a namespace with a quota of one resource.
func (c *cluster) team(name, resource, min, max string) string {
	c.Helper()
	namespace := c.ns + "-" + name
	c.ok(plane.CreateNamespaces(c.ctx, namespace),
		lab.ElasticQuota{Namespace: namespace, Name: name, Min: lab.Amounts{resource: min}, Max: lab.Amounts{resource: max}}.Put(c.ctx, plane))
	return namespace
}

// run has the pod scheduled and sets it running.
func (c *cluster) run(pod *v1.Pod) string {
	c.Helper()
	c.pods(pod)
	node := c.boundIn(pod.Namespace, pod.Name)[pod.Name]
	c.ok(plane.Run(c.ctx, pod.Namespace, pod.Name, time.Now()))
	return node
}

// takes: the pod is bound, and that costs just these pods of that namespace.
func (c *cluster) takes(pod *v1.Pod, from string, victims ...string) {
	c.Helper()
	before, err := plane.Pods(c.ctx, "")
	c.ok(err)
	for _, victim := range victims {
		c.gone(from, victim)
	}
	c.run(pod)
	after, err := plane.Pods(c.ctx, "")
	c.ok(err)
	left := map[string]bool{}
	for i := range after {
		left[after[i].Namespace+"/"+after[i].Name] = true
	}
	for i := range before {
		name := before[i].Namespace + "/" + before[i].Name
		victim := before[i].Namespace == from && slices.Contains(victims, before[i].Name)
		if left[name] == victim {
			c.Errorf("for %s: %s: is a victim: %v, should be: %v", pod.Name, name, !left[name], victim)
		}
	}
}

// refused: the pod waits, nobody goes for it, and it is taken away again.
func (c *cluster) refused(pod *v1.Pod, parts ...string) {
	c.Helper()
	before, err := plane.Pods(c.ctx, "")
	c.ok(err)
	c.pods(pod)
	c.waits(pod, parts...)
	after, err := plane.Pods(c.ctx, "")
	c.ok(err)
	if len(after) != len(before)+1 {
		c.Errorf("for %s pods were evicted: %d before, %d with it", pod.Name, len(before), len(after))
	}
	c.deletes(pod.Namespace, pod.Name)
}

var elasticQuotaRules = check.Rules{ElasticQuotas: true}

func TestCapacityStory1BorrowedGpusAreGivenBackAndNoMore(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1", lab.Allocatable(gpu, "10")))
	a, b := c.team("usera", gpu, "4", "6"), c.team("userb", gpu, "6", "8")
	c.start(withElasticQuotas)
	c.run(lab.Pod(a, "a1", amount(gpu, "2")))
	c.run(lab.Pod(b, "b1", amount(gpu, "3")))
	c.run(lab.Pod(a, "a2", amount(gpu, "2")))
	c.feasible(elasticQuotaRules)

	t.Log("of the 3 unused GPUs A gets 2, up to its max")
	c.refused(lab.Pod(a, "a3", amount(gpu, "3")), "is more than max 6")
	c.run(lab.Pod(a, "a3", amount(gpu, "2")))
	c.refused(lab.Pod(a, "a4", amount(gpu, "1")), "is more than max 6")
	c.feasible(elasticQuotaRules)

	t.Log("B wants 3 more, within its min: A gives 2 back")
	c.takes(lab.Pod(b, "b2", amount(gpu, "3")), a, "a3")
	c.feasible(elasticQuotaRules)

	t.Log("one or two more do not succeed: what A has is guaranteed")
	c.refused(lab.Pod(b, "b3", amount(gpu, "1")), "is more than min 10")
	c.refused(lab.Pod(b, "b3", amount(gpu, "2")))
	t.Log("with a higher priority only pods of its own quota go")
	c.takes(lab.Pod(b, "b4", amount(gpu, "2"), lab.Priority(100)), b, "b2")
	c.wantAlive(a, "a1 a2")
	c.wantAlive(b, "b1 b4")
	c.feasible(elasticQuotaRules)
}

func TestCapacityStory2VictimsByMin(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1", lab.Allocatable(gpu, "10")))
	a, b, third := c.team("usera", gpu, "3", "4"), c.team("userb", gpu, "4", "6"), c.team("userc", gpu, "3", "4")
	c.start(withElasticQuotas)
	c.run(lab.Pod(a, "a1", amount(gpu, "2")))
	c.run(lab.Pod(b, "b1", amount(gpu, "2")))
	c.run(lab.Pod(third, "c1", amount(gpu, "3")))
	c.ok(plane.Run(c.ctx, a, "a1", time.Now().Add(-time.Minute))) // the more important one of A
	c.run(lab.Pod(a, "a2", amount(gpu, "2")))
	c.run(lab.Pod(b, "b2", amount(gpu, "1")))
	c.feasible(elasticQuotaRules)

	t.Log("B wants 1 more within its min: A uses more than its min, C does not")
	c.takes(lab.Pod(b, "b3", amount(gpu, "1")), a, "a2")
	c.wantAlive(third, "c1")
	c.feasible(elasticQuotaRules)

	t.Log("B's two pods use 5: PodC would take B beyond its min; victims are of the same quota and lower priority")
	c.deletes(b, "b1", "b2", "b3")
	c.run(lab.Pod(b, "pod-a", amount(gpu, "2")))
	c.run(lab.Pod(b, "pod-b", amount(gpu, "3"), lab.Priority(10)))
	c.refused(lab.Pod(b, "pod-c", amount(gpu, "1")))
	c.takes(lab.Pod(b, "pod-c", amount(gpu, "1"), lab.Priority(10)), b, "pod-a")
	c.wantAlive(a, "a1")
	c.wantAlive(b, "pod-b pod-c")
	c.wantAlive(third, "c1")
	c.feasible(elasticQuotaRules)
}

func TestCapacityExampleHighPriorityTakesNothingFromAnotherNamespace(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	one, two, three := c.team("quota1", "cpu", "0", "2"), c.team("quota2", "cpu", "0", "2"), c.team("quota3", "cpu", "1", "2")
	c.start(withElasticQuotas)
	t.Log("nginx of quota1 runs because it borrows the min of quota3")
	c.run(lab.Pod(one, "nginx", amount("cpu", "1")))
	c.refused(lab.Pod(two, "nginx", amount("cpu", "1"), lab.Priority(1_000_000)), "is more than min 1")
	t.Log("the lender needs no priority to have it back")
	c.takes(lab.Pod(three, "nginx", amount("cpu", "1")), one, "nginx")
	c.feasible(elasticQuotaRules)
}

func TestCapacityExampleCrossNodePreemption(t *testing.T) {
	for _, on := range []bool{false, true} {
		t.Run(map[bool]string{false: "off", true: "on"}[on], func(t *testing.T) {
			c := newCluster(t)
			c.nodes(lab.Node("node1", lab.Allocatable("cpu", "2")), lab.Node("node2", lab.Allocatable("cpu", "2")))
			one, two := c.team("quota1", "cpu", "0", "2"), c.team("quota2", "cpu", "2", "2")
			s := withElasticQuotas
			s.engine.PluginConfig = []lab.PluginConfig{argsOf("CapacityScheduling", m{"crossNodePreemption": on})}
			c.start(s)
			c.run(lab.Pod(one, "nginx-1", amount("cpu", "1")))
			c.run(lab.Pod(one, "nginx-2", amount("cpu", "1")))
			placed := c.boundIn(one, "nginx-1", "nginx-2")
			if placed["nginx-1"] == placed["nginx-2"] {
				t.Fatalf("the story has them on two nodes: %v", placed)
			}
			pod := lab.Pod(two, "nginx", amount("cpu", "2"))
			if on {
				c.takes(pod, one, "nginx-1", "nginx-2")
			} else {
				c.refused(pod, "is more than min 2")
			}
			c.feasible(elasticQuotaRules)
		})
	}
}

// Priority within a quota: the least important pods go, and only as many as must.
func TestPreemptionWithinAQuotaTakesTheLeastImportant(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1", lab.Allocatable("cpu", "8")))
	team := c.team("team", "cpu", "8", "8")
	c.start(withElasticQuotas)
	c.run(lab.Pod(team, "high", amount("cpu", "2"), lab.Priority(1000)))
	c.run(lab.Pod(team, "low-old", amount("cpu", "2"), lab.Priority(1)))
	c.ok(plane.Run(c.ctx, team, "low-old", time.Now().Add(-time.Hour)))
	c.run(lab.Pod(team, "low-new", amount("cpu", "2"), lab.Priority(1)))
	c.run(lab.Pod(team, "middle", amount("cpu", "2"), lab.Priority(10)))
	c.refused(lab.Pod(team, "never", amount("cpu", "2"), lab.NonPreempting(100)))
	c.takes(lab.Pod(team, "preemptor", amount("cpu", "2"), lab.Priority(100)), team, "low-new")
	c.takes(lab.Pod(team, "preemptor-2", amount("cpu", "4"), lab.Priority(100)), team, "low-old", "middle")
	c.wantAlive(team, "high preemptor preemptor-2")
	c.feasible(elasticQuotaRules)
}

// A pod without a quota takes pods without one, never a team's.
func TestPreemptionWithoutAQuotaLeavesTeamsAlone(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1", lab.Allocatable("cpu", "4")))
	team := c.team("team", "cpu", "2", "4")
	c.start(withElasticQuotas)
	c.run(lab.Pod(team, "theirs", amount("cpu", "2")))
	c.run(c.pod("free", amount("cpu", "2")))
	c.takes(c.pod("urgent", amount("cpu", "2"), lab.Priority(1000)), c.ns, "free")
	c.refused(c.pod("more-urgent", amount("cpu", "4"), lab.Priority(2000)))
	c.wantAlive(team, "theirs")
	c.feasible(elasticQuotaRules)
}

// Many pods of many teams at once: no quota is ever over its bounds.
func TestQuotasHoldUnderManyPods(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 20, nil)...) // 160 cpu
	c.start(withElasticQuotas)
	teams := []string{c.team("a", "cpu", "40", "60"), c.team("b", "cpu", "40", "50"), c.team("c", "cpu", "20", "100")}
	time.Sleep(quiet)
	var pods []*v1.Pod
	for _, team := range teams {
		for _, name := range numbered("p", 70) {
			pods = append(pods, lab.Pod(team, name, amount("cpu", "1")))
		}
	}
	c.pods(pods...)
	t.Log("210 pods want 210 of the 100 that all min are together; borrowed pods may be taken back")
	for _, team := range teams {
		for _, name := range numbered("p", 70) {
			c.gone(team, name)
		}
	}
	c.ok(lab.Eventually(c.ctx, 40*time.Second, func() error { return c.countBound(teams, 100) }))
	c.feasible(elasticQuotaRules)
}
