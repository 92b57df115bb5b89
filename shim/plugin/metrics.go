package plugin

import (
	"errors"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"headroom.dev/shim/client"
)

// What PreFilter makes of a cycle; each is a series from the start, so that the first one of an outage
// counts as an increase. tests/server/metrics_names_test.py reads this file.
var outcomes = []string{"limited", "all", "infeasible", "quota", "refused", "skipped", "held"}

// Under the scheduler's own registry, beside its metrics.
var (
	requestSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: "headroom", Name: "request_duration_seconds",
		Help:           "Time of one request to headroomd, by request and result (ok, refused, unavailable).",
		Buckets:        metrics.ExponentialBuckets(5e-6, 2, 18),
		StabilityLevel: metrics.ALPHA,
	}, []string{"request", "result"})
	podsTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "scheduling_cycles_total",
		Help: "Cycles by what PreFilter made of them: limited (the best names), all (no limit on names), " +
			"infeasible, quota, refused (headroomd cannot use the pod), skipped and held (headroomd is not available).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"outcome"})
	widenedTotal = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "widened_total",
		Help:           "Cycles whose names were all rejected by other plugins.",
		StabilityLevel: metrics.ALPHA,
	})
	victimsTotal = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "preemption_victims_total",
		Help:           "Pods that were deleted to make room.",
		StabilityLevel: metrics.ALPHA,
	})
	waitingPods = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: "headroom", Name: "waiting_pods",
		Help:           "Pods that the waiting room knows.",
		StabilityLevel: metrics.ALPHA,
	})
	podsWoken = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "activated_pods_total",
		Help:           "Pods that were activated because the engine finds room for them now.",
		StabilityLevel: metrics.ALPHA,
	})
	available = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: "headroom", Name: "available",
		Help:           "1 while headroomd can be asked: it is there, serves the profile and has facts.",
		StabilityLevel: metrics.ALPHA,
	})
	releasedTotal = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "released_pods_total",
		Help: "Pods that headroomd turned away and that the other plugins got to schedule, because it was " +
			"not available for longer than the grace period.",
		StabilityLevel: metrics.ALPHA,
	})
	reservationsLost = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "reservations_lost_total",
		Help:           "Reservations that had ended and could not be made again: the pods get no node in that cycle.",
		StabilityLevel: metrics.ALPHA,
	})
	factsRefused = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "facts_refused_total",
		Help:           "Objects that headroomd cannot use.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind"})
	quotaWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "headroom", Name: "quota_status_writes_total",
		Help:           "Writes of status.used of ElasticQuotas and CapacityQuotas, by result (ok, failed).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
	fed = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: "headroom", Name: "fed",
		Help:           "1 while headroomd has all facts from this scheduler.",
		StabilityLevel: metrics.ALPHA,
	})
)

var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(requestSeconds, podsTotal, widenedTotal, victimsTotal, waitingPods,
		podsWoken, available, releasedTotal, reservationsLost, factsRefused, quotaWrites, fed)
	for _, outcome := range outcomes {
		podsTotal.WithLabelValues(outcome)
	}
	for _, result := range []string{"ok", "failed"} {
		quotaWrites.WithLabelValues(result)
	}
})

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
