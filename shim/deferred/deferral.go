package deferred

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// deferral stands in a cycle's state for what the stock plugin's PreFilter would have written there. Clones of the
// state share what was computed until they change it. Any number of goroutines may read; who changes is alone, as with
// the stock plugin's own state.
type deferral struct {
	shared *outcome
	own    fwk.CycleState // changed; nil: as computed
}

// outcome of the stock plugin's PreFilter, computed when it is first asked for. Never changed after that.
type outcome struct {
	once    sync.Once
	compute func()
	state   fwk.CycleState
	status  *fwk.Status
}

func newDeferral(ctx context.Context, its stock, pod *v1.Pod, nodes []fwk.NodeInfo) *deferral {
	// Who asks may be one of many whose context ends with the first that is content: half the nodes would be left out.
	ctx = context.WithoutCancel(ctx)
	shared := &outcome{state: framework.NewCycleState()}
	shared.compute = func() { _, shared.status = its.PreFilter(ctx, shared.state, pod, nodes) }
	return &deferral{shared: shared}
}

// Clone is called before pods are added or removed for one node.
func (d *deferral) Clone() fwk.StateData {
	clone := &deferral{shared: d.shared}
	if d.own != nil {
		clone.own = d.own.Clone()
	}
	return clone
}

// read is the state for Filter; nil where PreFilter skips the plugin or fails, as the status says.
func (d *deferral) read() (fwk.CycleState, *fwk.Status) {
	d.shared.once.Do(d.shared.compute)
	switch status := d.shared.status; {
	case status.IsSkip():
		return nil, nil
	case status.Code() == fwk.Error:
		return nil, fwk.AsStatus(status.AsError())
	case !status.IsSuccess():
		// Another one for everybody: the framework writes into it.
		return nil, fwk.NewStatus(status.Code(), status.Reasons()...)
	}
	if d.own != nil {
		return d.own, nil
	}
	return d.shared.state, nil
}

// change is the state for AddPod and RemovePod; nil as with read.
func (d *deferral) change() (fwk.CycleState, *fwk.Status) {
	state, status := d.read()
	if state != nil && d.own == nil {
		d.own = state.Clone()
	}
	return d.own, status
}
