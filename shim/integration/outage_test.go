package integration

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// What dies while pods are scheduled.

// limitsTo is a profile whose LimitAware allows that percentage of cpu.
func limitsTo(percent int) lab.SchedulerProfile {
	return standard(argsOf("LimitAware", m{"defaultLimitToAllocatableRatio": m{"cpu": percent}}))
}

func limitRules(percent int64) check.Rules {
	return check.Rules{LimitRatios: map[v1.ResourceName]int64{"cpu": percent}}
}

// some pods with limits, named so.
func (c *cluster) some(prefix string, n int) []string {
	c.Helper()
	names := numbered(prefix, n)
	var pods []*v1.Pod
	for _, name := range names {
		pods = append(pods, c.pod(name, lab.Request("cpu", "100m"), lab.Limit("cpu", "500m"), lab.Request("memory", "64Mi")))
	}
	c.pods(pods...)
	return names
}

func TestHeadroomdKilledSkipGoesOnWithTheOtherPlugins(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 10, nil)...)
	c.start(setup{engine: limitsTo(200), args: lab.HeadroomArgs{OnUnavailable: "Skip", Timeout: "100ms"}})
	c.bound(c.some("before", 20)...)

	t.Log("headroomd is killed: 20 pods are scheduled all the same, by requests")
	c.daemon.Kill()
	c.bound(c.some("during", 20)...)
	c.feasible(limitRules(200))
	c.counts(`headroom_scheduler_gate_open{gate="limits",profile="default-scheduler"}`, 0)
	if text, err := c.scheduler.MetricsText(c.ctx); err != nil || !metricAbove(text, `headroom_scheduler_cycles_total{outcome="skipped"}`, 0) {
		t.Errorf("the scheduler's metrics should count skipped pods (%v)", err)
	}

	t.Log("it is back: limits are looked at again, and count the pods of the outage")
	c.ok(c.daemon.Start(c.ctx))
	c.awaitFed()
	c.bound(c.some("after", 20)...)
	large := c.pod("large", lab.Request("cpu", "100m"), lab.Limit("cpu", "15")) // of 16 on each node, 3 are taken
	c.pods(large)
	c.waits(large, "10 Insufficient cpu limit")
	c.feasible(limitRules(200))
}

// A restart of a second changes no decision, whatever onUnavailable says: limits and quotas hold, and the
// pods that wait for them go on waiting.
func TestARestartOpensNoGate(t *testing.T) {
	for name, args := range map[string]lab.HeadroomArgs{
		"skip":                {OnUnavailable: "Skip", Timeout: "100ms"},
		"skip, quotas wait":   {OnUnavailable: "Skip", OnUnavailableQuotas: "Wait", Timeout: "100ms"},
		"wait for everything": {OnUnavailable: "Wait", Timeout: "100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.nodes(lab.UniformNodes("node", 5, nil)...) // limits of 5 x 8 cpu are 80 pods
			team := c.team("team", "cpu", "2", "2")
			c.start(setup{engine: limitsTo(100), args: args, elasticQuotas: true})
			time.Sleep(quiet) // the quota is known
			var pods []*v1.Pod
			for _, name := range numbered("replica", 6) {
				pods = append(pods, lab.Pod(team, name, amount("cpu", "1")))
			}
			c.pods(pods...)
			c.ok(lab.Eventually(c.ctx, patience, func() error { return c.countBound([]string{team}, 2) }))
			c.some("limited", 90)
			limited := func() error { return c.countBound([]string{c.ns}, 76) } // 40 cpu less the quota's 2
			c.ok(lab.Eventually(c.ctx, patience, limited))
			c.daemon.Kill()
			time.Sleep(time.Second)
			c.ok(c.daemon.Start(c.ctx))
			c.awaitFed()
			time.Sleep(2 * quiet)
			c.ok(c.countBound([]string{team}, 2), limited())
			c.feasible(check.Rules{LimitRatios: limitRules(100).LimitRatios, ElasticQuotas: true})
		})
	}
}

// A long outage opens the gates slowly, with an event, and only those that may open.
func TestALongOutageReleasesPodsOneByOne(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	team := c.team("team", "cpu", "2", "2")
	c.start(setup{engine: limitsTo(100), elasticQuotas: true, args: lab.HeadroomArgs{OnUnavailable: "Skip",
		OnUnavailableQuotas: "Wait", GracePeriod: "4s", Timeout: "100ms"}})
	time.Sleep(quiet) // the quota is known
	c.run(lab.Pod(team, "within", amount("cpu", "2")))
	c.pods(lab.Pod(team, "over", amount("cpu", "1")))
	c.some("limited", 15)
	limited := func(n int) func() error { return func() error { return c.countBound([]string{c.ns}, n) } }
	c.ok(lab.Eventually(c.ctx, patience, limited(12))) // 8 cpu less the quota's 2
	c.ok(plane.AwaitRejected(c.ctx, patience, team, "over", "is more than max 2"))

	t.Log("headroomd is killed: new pods go on, but for the quota's")
	c.daemon.Kill()
	killed := time.Now()
	c.pods(c.pod("new", lab.Request("cpu", "100m"), lab.Limit("cpu", "1")), lab.Pod(team, "new", amount("cpu", "1")))
	c.bound("new")
	c.ok(limited(13)())

	t.Log("after the grace period the pods beyond the limits are released, with an event; the quota's wait")
	c.ok(lab.Eventually(c.ctx, patience, limited(16)))
	if took := time.Since(killed); took < 4*time.Second+2*time.Second {
		t.Errorf("three pods were released within %v", took)
	}
	events, err := plane.Client.EventsV1().Events(c.ns).List(c.ctx, metav1.ListOptions{})
	c.ok(err)
	told := 0
	for i := range events.Items {
		if events.Items[i].Reason == "ReleasedWithoutHeadroom" {
			told++
		}
	}
	if told != 3 {
		t.Errorf("%d events tell of 3 pods", told)
	}
	c.ok(c.countBound([]string{team}, 1))
	c.feasible(elasticQuotaRules)
}

func TestHeadroomdKilledWaitHoldsPods(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 10, nil)...)
	c.start(setup{engine: limitsTo(200), args: lab.HeadroomArgs{OnUnavailable: "Wait", Timeout: "100ms"}})
	c.bound(c.some("before", 20)...)

	t.Log("headroomd is killed: pods wait")
	c.daemon.Kill()
	during := c.some("during", 20)
	c.ok(plane.AwaitRejected(c.ctx, patience, c.ns, during[0], "onUnavailable is Wait: headroomd is unavailable"),
		plane.StaysPending(c.ctx, quiet, c.ns, during...))

	t.Log("it is back: they are bound, within the limits")
	c.ok(c.daemon.Start(c.ctx))
	c.bound(during...)
	c.feasible(limitRules(200))
}

// Killed again and again while pods come.
func TestHeadroomdKilledRepeatedly(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 5, nil)...) // limits of 5 x 8 cpu are 80 pods
	c.start(setup{engine: limitsTo(100), args: lab.HeadroomArgs{OnUnavailable: "Wait", Timeout: "200ms"}})
	for _, prefix := range []string{"a", "b", "c"} {
		c.some(prefix, 35)
		time.Sleep(300 * time.Millisecond)
		c.ok(c.daemon.Restart(c.ctx))
	}
	t.Log("105 pods came, 80 fit by their limits: the others wait, and nothing is over")
	c.ok(lab.Eventually(c.ctx, 2*patience, func() error { return c.boundCount(80) }))
	time.Sleep(quiet)
	c.ok(c.boundCount(80))
	c.feasible(limitRules(100))
}

func TestSchedulerKilledSuccessorGoesOn(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 5, nil)...)
	s := setup{engine: limitsTo(100), leader: lab.FastLeaderElection(c.ns)}
	c.start(s)
	second := c.startScheduler(s)
	c.bound(c.some("before", 30)...)

	t.Log("the leader is killed with pods under way: the other takes over, and has headroomd fed anew")
	names := c.some("during", 30)
	c.scheduler.Kill()
	c.bound(names...)
	c.feasible(limitRules(100))
	c.some("after", 30)
	t.Log("20 more fit by their limits, 10 wait")
	c.ok(lab.Eventually(c.ctx, patience, func() error { return c.boundCount(80) }))
	time.Sleep(quiet)
	c.ok(c.boundCount(80))
	c.feasible(limitRules(100))

	t.Log("the first comes back as a standby; then the second goes: it leads again")
	c.ok(c.scheduler.Start(c.ctx))
	second.Kill()
	c.deletes(c.ns, "before-0000", "before-0001", "before-0002")
	c.ok(lab.Eventually(c.ctx, patience, func() error { return c.boundCount(80) }))
	c.feasible(limitRules(100))
}

func TestAPIServerRestartIsSurvived(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.UniformNodes("node", 5, nil)...)
	c.start(setup{engine: limitsTo(100), args: lab.HeadroomArgs{OnUnavailable: "Wait"}})
	c.bound(c.some("before", 30)...)
	names := c.some("during", 30)
	c.ok(plane.APIServer.Restart(c.ctx))
	c.bound(names...)
	t.Log("what changes after the restart is seen: a node that comes, and a pod that goes")
	c.some("after", 30)
	c.ok(lab.Eventually(c.ctx, patience, func() error { return c.boundCount(80) }))
	c.deletes(c.ns, "before-0000")
	time.Sleep(quiet)
	c.nodes(lab.Node("late"))
	c.bound()
	c.feasible(limitRules(100))
}
