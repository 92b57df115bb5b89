package plugin

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister: what makes the queue try a pod again that this plugin rejected on some nodes and
// others on the rest. Where the engine finds no node at all the waiting room alone wakes the pod.
func (h *Headroom) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	node := fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint | fwk.UpdateNodeAnnotation
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: node}, QueueingHintFn: h.afterNode},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.UpdatePodScaleDown}, QueueingHintFn: h.afterPod},
	}, nil
}

// afterNode: only what a filter of the engine reads can make a node feasible.
func (h *Headroom) afterNode(_ klog.Logger, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
	if !h.room.mixed(pod.UID) {
		return fwk.QueueSkip, nil
	}
	was, _ := before.(*v1.Node)
	is, _ := after.(*v1.Node)
	if was != nil && is != nil && was.Spec.Unschedulable == is.Spec.Unschedulable &&
		slices.Equal(was.Spec.Taints, is.Spec.Taints) && maps.Equal(was.Labels, is.Labels) &&
		maps.Equal(was.Annotations, is.Annotations) &&
		equality.Semantic.DeepEqual(was.Status.Allocatable, is.Status.Allocatable) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterPod: a pod that is on no node takes up nothing; one that goes may free what this one needs.
func (h *Headroom) afterPod(_ klog.Logger, pod *v1.Pod, before, _ any) (fwk.QueueingHint, error) {
	was, _ := before.(*v1.Pod)
	if !h.room.mixed(pod.UID) || (was != nil && was.Spec.NodeName == "" && was.UID != pod.UID) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
