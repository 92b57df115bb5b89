// Package deferred has kube-scheduler's PodTopologySpread and InterPodAffinity under other names, as plugins that
// compute nothing where headroomd has decided the same.
//
// Both look at every node in their PreFilter, in every cycle, although Headroom's PreFilter has named the one node that
// is left. Here that PreFilter is put off: it runs once in a cycle, when something asks for more than headroomd said. So
// its answers are those of the plugin that it stands for, whatever is asked:
//
//   - Filter lets a pod on a node that headroomd's answer of this cycle lets it on (plugin.Passed).
//   - Filter of any other node, and of one whose pods the framework has changed in a clone of the cycle's state
//     (preemption's dry runs, nominated pods), is the stock plugin's.
//   - Where headroomd did not decide (it is away, refused the pod, comes later among the PreFilter plugins, or its
//     profile leaves the plugin out), and in cycles of pod groups, which change the snapshot between PreFilter and
//     Filter, all is the stock plugin's at once.
//   - Scores, queueing hints and signatures are always the stock plugin's.
//
// The stock plugin of the same name has to be disabled, or it computes beside this one. Arguments are those of the stock
// plugin. Unlike shim/plugin this imports k8s.io/kubernetes; a kube-scheduler of one's own may do without it.
//
// Thread safety: as kube-scheduler's framework calls plugins.
package deferred

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/plugin"
)

// stock is what both plugins of kube-scheduler are.
type stock interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
	fwk.EnqueueExtensions
	fwk.SignPlugin
}

// Plugin stands for one of kube-scheduler's. What it does not define is that one's.
type Plugin struct {
	stock
	name string
	// decided: headroomd decided in this cycle what the plugin filters by.
	decided func(fwk.CycleState, *v1.Pod) bool
	// passed: as plugin.Passed.
	passed func(fwk.CycleState, string) bool
}

var _ fwk.PreFilterExtensions = &Plugin{}

func newPlugin(name string, its stock, decided func(fwk.CycleState, *v1.Pod) bool) *Plugin {
	return &Plugin{stock: its, name: name, decided: decided, passed: plugin.Passed}
}

func (p *Plugin) Name() string { return p.name }

func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if plugin.OfPodGroup(state) || !p.decided(state, pod) {
		return p.stock.PreFilter(ctx, state, pod, nodes)
	}
	state.Write(p.key(), newDeferral(ctx, p.stock, pod, nodes))
	return nil, nil
}

func (p *Plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	its := p.deferral(state)
	if its == nil {
		return p.stock.Filter(ctx, state, pod, node)
	}
	if p.passed(state, node.Node().Name) {
		return nil
	}
	computed, status := its.read()
	if computed == nil {
		return status
	}
	return p.stock.Filter(ctx, computed, pod, node)
}

func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return p }

func (p *Plugin) AddPod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, added fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	state, status := p.changing(state)
	if state == nil {
		return status
	}
	return p.stock.PreFilterExtensions().AddPod(ctx, state, pod, added, node)
}

func (p *Plugin) RemovePod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, removed fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	state, status := p.changing(state)
	if state == nil {
		return status
	}
	return p.stock.PreFilterExtensions().RemovePod(ctx, state, pod, removed, node)
}

// changing is the state that the stock plugin may change; nil where it has none, which the status explains.
func (p *Plugin) changing(state fwk.CycleState) (fwk.CycleState, *fwk.Status) {
	if its := p.deferral(state); its != nil {
		return its.change()
	}
	return state, nil
}

func (p *Plugin) key() fwk.StateKey { return fwk.StateKey(p.name) }

// deferral of this cycle; nil where the stock plugin's PreFilter ran.
func (p *Plugin) deferral(state fwk.CycleState) *deferral {
	data, err := state.Read(p.key())
	if err != nil {
		return nil
	}
	its, _ := data.(*deferral)
	return its
}
