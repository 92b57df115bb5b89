package integration

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/lab"
)

// Scenarios in which pods are held back or headroomd is away: gates, quotas, restarts, outages. Kube-scheduler
// knows no quotas: theirs have what the quota asks for in its place, and stock has no outage.

func disturbedScenarios() []scenario {
	const zone = v1.LabelTopologyZone
	spread := replicas(60, cpu("250m"), of("web"), lab.SpreadSoftly(zone, 1, app, "web"))
	scenarios := []scenario{
		{name: "gates: pods are held, and let go", nodes: pool(4), pods: replicas(8, cpu("2"), lab.Gated("headroom.dev/test")), later: openGates},
		{name: "quota: no more than its max", nodes: pool(4), quota: cpuQuota("6"),
			pods: replicas(6, amount("cpu", "2")), pending: 3, want: &outcome{pods: 6, placed: 3}},
		{name: "quota: its least important go", nodes: pool(1), quota: cpuQuota("8"),
			running: there(on("node-0000", "mid", amount("cpu", "4"), lab.Priority(mid)), on("node-0000", "low", amount("cpu", "4"), lab.Priority(low))),
			pods:    replicas(1, amount("cpu", "4"), lab.Priority(high)),
			want:    &outcome{pods: 1, placed: 1, victims: 1, highest: low}},
	}
	for _, kind := range []struct {
		name string
		away time.Duration
	}{{"restart: headroomd is away for 1 s", time.Second}, {"outage: headroomd is away for 5 s", 5 * time.Second}} {
		scenarios = append(scenarios, scenario{name: kind.name, nodes: pool(9, "a", "b", "c"), pods: spread, skewBy: zone,
			midway: func(s *stage) { s.headroomdAway(kind.away) }})
	}
	return scenarios
}

func cpuQuota(cores string) *lab.ElasticQuota {
	return &lab.ElasticQuota{Name: "team", Min: lab.Amounts{"cpu": cores}, Max: lab.Amounts{"cpu": cores}}
}

// openGates after a while in which nothing may have happened.
func openGates(s *stage) {
	s.Helper()
	time.Sleep(arrival)
	pods, err := plane.Pods(s.ctx, s.ns)
	s.ok(err)
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			s.Errorf("pod %s is on a node although it has a gate", pods[i].Name)
		}
		s.ok(plane.OpenGate(s.ctx, s.ns, pods[i].Name))
	}
}

// headroomdAway is killed and comes back after that long, while pods go on coming.
func (s *stage) headroomdAway(long time.Duration) {
	if !s.headroom {
		return
	}
	s.daemon.Kill()
	s.away = make(chan error, 1)
	go func() {
		time.Sleep(long)
		if err := s.daemon.Start(s.ctx); err != nil {
			s.away <- fmt.Errorf("headroomd does not come back: %w", err)
			return
		}
		s.away <- nil
	}()
}
