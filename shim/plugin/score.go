package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreScore leaves scoring to the other plugins where PreFilter did.
func (h *Headroom) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if cycleOf(state) == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// Score is the engine's total: the sum of weight * score over the plugins of headroomd's profile. A
// node that PreFilter's reply does not have (a nominated one that passed Filter) scores lowest.
func (h *Headroom) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	c := cycleOf(state)
	if c == nil {
		return 0, nil
	}
	total, _ := c.total(node.Node().Name)
	return total, nil
}

func (h *Headroom) ScoreExtensions() fwk.ScoreExtensions { return h }

// NormalizeScore spreads the totals over [MinNodeScore, MaxNodeScore], rounding down: the best total
// is at the top, and no lower one beside it, however close. With a weight above 100 times the sum of
// the other plugins' weights the engine's ranking decides, and they decide among equals.
func (h *Headroom) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	if len(scores) == 0 {
		return nil
	}
	low, high := scores[0].Score, scores[0].Score
	for i := range scores {
		low, high = min(low, scores[i].Score), max(high, scores[i].Score)
	}
	const span = fwk.MaxNodeScore - fwk.MinNodeScore
	for i := range scores {
		if low == high {
			scores[i].Score = fwk.MaxNodeScore
		} else {
			scores[i].Score = fwk.MinNodeScore + (scores[i].Score-low)*span/(high-low)
		}
	}
	return nil
}
