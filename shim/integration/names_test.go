package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// One kube-scheduler with two names, each a profile with a plugin of its own, and one headroomd: pods of both count
// together, those of one wake when those of the other make room, and all is as before after a restart of headroomd.
func TestTwoNamesAskOneHeadroomd(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	c.startHeadroomd(setup{engine: limitsTo(100)})
	config := c.config(setup{engine: limitsTo(100)})
	second := config.Profiles[0]
	second.Name = "second"
	config.Profiles = append(config.Profiles, second)
	scheduler, err := world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{Config: config, Args: []string{"--logging-format=json"}})
	c.ok(err)
	c.own(scheduler.Process)
	c.awaitFed()

	c.pods(c.pod("first", cores(1, 5)))
	c.bound("first")
	waits := c.pod("waits", cores(1, 5), lab.ScheduledBy("second"))
	c.pods(waits)
	c.waits(waits, "Insufficient cpu limit")
	c.deletes(c.ns, "first")
	c.wakes("waits")

	c.ok(c.daemon.Restart(c.ctx))
	c.awaitFed()
	c.deletes(c.ns, "waits")
	// Twice as many as there is room for, by turns of either name.
	const each = 8
	for i := range each {
		c.pods(c.pod(fmt.Sprintf("of-first-%d", i), amount("cpu", "1")),
			c.pod(fmt.Sprintf("of-second-%d", i), amount("cpu", "1"), lab.ScheduledBy("second")))
	}
	// Until each has a node or was rejected.
	c.ok(lab.Eventually(c.ctx, patience, func() error {
		if found := check.Check(c.list(limitRules(100))); len(found) > 0 {
			return errors.New(check.Text(found))
		}
		return nil
	}))
	if alive := c.alive(c.ns); strings.Count(alive, "?") != each {
		c.Errorf("half of them has room: %s", alive)
	}
	c.nobodyStranded(limitRules(100))
}

// One kube-scheduler with three names and one headroomd with a profile for two of them: each name's pods go where its
// profile says, what one reserves or binds the other counts, and pods of the third wait, told why.
func TestTwoPoliciesOfOneHeadroomd(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"), lab.Node("node2"))
	by := func(name, strategy string) lab.SchedulerProfile {
		profile := engine([]string{"NodeResourcesFit"}, []string{"NodeResourcesFit"}, argsOf("NodeResourcesFit",
			m{"scoringStrategy": m{"type": strategy, "resources": []m{{"name": "cpu", "weight": 1}}}}))
		profile.Name = name
		return profile
	}
	s := setup{engine: by("", "LeastAllocated"), engines: []lab.SchedulerProfile{by("packer", "MostAllocated")},
		args: lab.HeadroomArgs{OnUnavailable: "Wait"}, engineScores: true}
	c.startHeadroomd(s)
	config := c.config(s)
	for _, name := range []string{"packer", "unknown"} {
		another := config.Profiles[0]
		another.Name = name
		config.Profiles = append(config.Profiles, another)
	}
	scheduler, err := world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{Config: config})
	c.ok(err)
	c.own(scheduler.Process)
	c.awaitFed()

	counts := func(pods int) {
		c.Helper()
		c.ok(lab.Eventually(c.ctx, patience, func() error {
			text, err := c.daemon.MetricsText(c.ctx)
			if line := fmt.Sprintf("\nheadroomd_pods %d\n", pods); err == nil && !strings.Contains(text, line) {
				err = fmt.Errorf("headroomd does not have %d pods", pods)
			}
			return err
		}))
	}
	c.pods(running(c.ns, "there", "node2", amount("cpu", "2")))
	counts(1)
	place := func(name, node string, options ...lab.PodOption) {
		c.Helper()
		c.pods(c.pod(name, append(options, amount("cpu", "1"))...))
		c.on(c.bound(name), name, node)
	}
	packed := lab.ScheduledBy("packer")
	place("pack1", "node2", packed)
	place("spread1", "node1")
	place("pack2", "node2", packed)
	place("spread2", "node1")
	// Now node1 is the fuller one for both.
	c.deletes(c.ns, "there", "pack1")
	c.ok(plane.AwaitGone(c.ctx, patience, c.ns, "there", "pack1"))
	counts(3)
	place("pack3", "node1", packed)
	place("spread3", "node2")

	stray := c.pod("stray", amount("cpu", "1"), lab.ScheduledBy("unknown"))
	c.pods(stray)
	c.waits(stray, `"unknown" has no profile here; served: default-scheduler, packer`)

	// And after a restart of headroomd.
	c.ok(c.daemon.Restart(c.ctx))
	c.awaitFed()
	place("pack4", "node1", packed)
	place("spread4", "node2")

	// Together they leave no room and take none twice.
	const each = 8
	for i := range each {
		c.pods(c.pod(fmt.Sprintf("of-first-%d", i), amount("cpu", "1")),
			c.pod(fmt.Sprintf("of-packer-%d", i), amount("cpu", "1"), packed))
	}
	c.ok(lab.Eventually(c.ctx, patience, func() error {
		if found := check.Check(c.list(limitRules(100))); len(found) > 0 {
			return errors.New(check.Text(found))
		}
		if alive := c.alive(c.ns); strings.Count(alive, "?") != 2*each-(16-7)+1 {
			return errors.New(alive)
		}
		return nil
	}))
}
