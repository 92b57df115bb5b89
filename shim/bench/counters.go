package main

import "k8s.io/component-base/metrics/legacyregistry"

// counters of this process so far.
type counters struct {
	batched  int // cycles that took a node from the batch of an earlier one
	headroom int // cycles in which Headroom chose the names
	// Questions for the best nodes, and the seconds that they took.
	evaluates       uint64
	evaluateSeconds float64
}

func readCounters() (c counters, err error) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return c, err
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				value := int(series.GetCounter().GetValue())
				switch family.GetName() + " " + label.GetValue() {
				case "scheduler_batch_attempts_total hint_used":
					c.batched += value
				case "headroom_scheduler_cycles_total limited":
					c.headroom += value
				case "headroom_scheduler_request_duration_seconds evaluate":
					c.evaluates += series.GetHistogram().GetSampleCount()
					c.evaluateSeconds += series.GetHistogram().GetSampleSum()
				}
			}
		}
	}
	return c, nil
}
