package integration

import (
	"errors"

	"headroom.dev/shim/lab"
)

// startAsShipped starts headroomd and the scheduler with Headroom, as deploy/chart configures them with
// these values. Different are only the address, as there is no pod, and the timeout, as two cores run all of this.
// It skips where there is no Helm.
func (c *cluster) startAsShipped(values ...string) (schedulerName string) {
	c.Helper()
	c.needsHeadroom()
	chart, err := world.Binaries.RenderChart(append(values, "plugin.timeout=2s")...)
	if errors.Is(err, lab.ErrMissing) {
		c.Skip(err)
	}
	c.ok(err)
	c.daemon, err = world.StartHeadroomd(c.ctx, chart.Headroomd)
	c.ok(err)
	c.own(c.daemon.Process)
	profile := chart.SchedulerFor(c.daemon.Address)
	scheduler, err := world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{
		Config: lab.SchedulerConfig{Profiles: []lab.SchedulerProfile{profile}}})
	c.ok(err)
	c.own(scheduler.Process)
	c.awaitFed()
	return profile.Name
}
