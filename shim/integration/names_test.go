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
	scheduler, err := world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{Config: config})
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
