package plugin

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"headroom.dev/shim/client"
)

// What PreFilter makes of a cycle; each is a series from the start, so that the first one of an outage
// counts as an increase. tests/server/metrics_names_test.py reads this file.
var outcomes = []string{"limited", "all", "infeasible", "quota", "refused", "skipped", "held"}

// subsystem is what the plugin's metrics begin with; headroomd's begin with headroomd_.
const subsystem = "headroom_scheduler"

// Under the scheduler's own registry, beside its metrics.
var (
	buildInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "build_info",
		Help:           "1: the version of the plugin, and of the protocol that it speaks.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"version", "protocol"})
	requestSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "request_duration_seconds",
		Help:           "Time of one request to headroomd, by request and result (ok, refused, unavailable).",
		Buckets:        metrics.ExponentialBuckets(5e-6, 2, 18),
		StabilityLevel: metrics.ALPHA,
	}, []string{"request", "result"})
	cyclesTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "cycles_total",
		Help: "Cycles by what PreFilter made of them: limited (the best names), all (no limit on names), " +
			"infeasible, quota, refused (headroomd cannot use the pod), skipped and held (headroomd is not available).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"outcome"})
	widenedTotal = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "widened_cycles_total",
		Help:           "Cycles whose names were all rejected by other plugins.",
		StabilityLevel: metrics.ALPHA,
	})
	victimsTotal = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "preemption_victims_total",
		Help:           "Pods that were deleted to make room.",
		StabilityLevel: metrics.ALPHA,
	})
	waitingPods = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "waiting_pods",
		Help:           "Pods that the waiting room knows.",
		StabilityLevel: metrics.ALPHA,
	})
	podsWoken = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "activated_pods_total",
		Help:           "Pods that were activated because the engine finds room for them now.",
		StabilityLevel: metrics.ALPHA,
	})
	available = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "available",
		Help:           "1 while headroomd can be asked for the profile: it is there, serves it and has facts.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"profile"})
	gateOpen = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "gate_open",
		Help: "1 while new pods of the profile pass the gate without headroomd, which is not available: limits " +
			"(limits and load), quotas.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"profile", "gate"})
	releasedTotal = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "released_pods_total",
		Help: "Pods that headroomd turned away and that the other plugins got to schedule, because it was " +
			"not available for longer than the grace period.",
		StabilityLevel: metrics.ALPHA,
	})
	reservationsLost = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "reservations_lost_total",
		Help:           "Reservations that had ended and could not be made again: the pods get no node in that cycle.",
		StabilityLevel: metrics.ALPHA,
	})
	conflictsTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "conflicts_total",
		Help: "Pods that did not get the node that was chosen for them, because others were faster: reserve (headroomd " +
			"refused to reserve it), and the kubelets' reasons.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"reason"})
	factsRefused = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "facts_refused_total",
		Help:           "Objects that headroomd cannot use, by kind.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind"})
	quotaWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "quota_status_writes_total",
		Help:           "Writes of status.used of ElasticQuotas and CapacityQuotas, by result (ok, failed).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
	fed = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "fed",
		Help:           "1 while headroomd has all facts from this scheduler.",
		StabilityLevel: metrics.ALPHA,
	})
)

var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(buildInfo, requestSeconds, cyclesTotal, widenedTotal, victimsTotal, waitingPods,
		podsWoken, available, gateOpen, releasedTotal, reservationsLost, conflictsTotal, factsRefused, quotaWrites, fed)
	buildInfo.WithLabelValues(version, strconv.Itoa(client.ProtocolVersion)).Set(1)
	for _, outcome := range outcomes {
		cyclesTotal.WithLabelValues(outcome)
	}
	for _, reason := range append(kubeletConflicts, conflictReserve, conflictExtendedResource) {
		conflictsTotal.WithLabelValues(reason)
	}
	for _, result := range []string{"ok", "failed"} {
		quotaWrites.WithLabelValues(result)
	}
})

// flag is a gauge's value that says yes or no.
func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// timed counts a request to headroomd.
func (h *Headroom) timed(request string, ask func() error) error {
	begin := time.Now()
	err := ask()
	result := "ok"
	var refused *client.ServerError
	switch {
	case errors.As(err, &refused):
		result = "refused"
	case err != nil:
		result = "unavailable"
	}
	requestSeconds.WithLabelValues(request, result).Observe(time.Since(begin).Seconds())
	return err
}
