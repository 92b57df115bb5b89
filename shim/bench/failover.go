package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

const failoverTarget = 5

// failover: a new leader feeds a headroomd that knows nothing, from informers that have synced.
func failover(ctx context.Context, o options) (t *table, err error) {
	t = &table{Name: "failover", What: "from the start of a new leader's feeder, whose informers have synced, until " +
		"headroomd has all facts and decides; feeder and headroomd share the processors. s",
		Columns: []string{"nodes", "pods", "NodeMetrics", "seconds", "objects a second", "target"}}
	l, err := lab.New()
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	perNode := max(1, o.failoverPods/o.failoverNodes)
	c := newCluster(o.seed, o.failoverNodes, perNode)
	for range 3 {
		seconds, err := feedOnce(ctx, l, c)
		if err != nil {
			return t, err
		}
		objects := len(c.nodes) + len(c.running) + len(c.metrics)
		t.add(len(c.nodes), len(c.running), len(c.metrics), seconds, float64(objects)/seconds, target(seconds, failoverTarget))
	}
	return t, nil
}

// feedOnce feeds a new headroomd and tells how long that took.
func feedOnce(ctx context.Context, l *lab.Lab, c *cluster) (float64, error) {
	daemon, err := startDaemon(ctx, l, nil)
	if err != nil {
		return 0, err
	}
	defer l.Forget(daemon.Process)
	address, err := client.ParseAddress(daemon.Address)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	applied := make(chan client.Stats, 1)
	feeder := newFeeder(address, c, func(stats client.Stats) {
		if stats.Ready {
			select {
			case applied <- stats:
			default:
			}
		}
	})
	begin := time.Now()
	go feeder.Run(ctx)
	select {
	case stats := <-applied:
		took := time.Since(begin).Seconds()
		if stats.Nodes != len(c.nodes) || stats.Pods != len(c.running) {
			return 0, fmt.Errorf("headroomd has %d of %d nodes and %d of %d pods", stats.Nodes, len(c.nodes), stats.Pods,
				len(c.running))
		}
		return took, nil
	case <-time.After(feedPatience):
		return 0, fmt.Errorf("headroomd is not fed after %v", feedPatience)
	}
}
