package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"headroom.dev/shim/client"
)

// preempt deletes the victims, as kube-scheduler's own preemption does: with a condition that tells
// why and an event, and pods of lower priority lose their nomination to the node. Deletes all or
// returns an error; those that are deleted by then stay so.
func (h *Headroom) preempt(ctx context.Context, pod *v1.Pod, choice *client.NodeVictims) error {
	failed := make([]error, len(choice.Victims))
	var all sync.WaitGroup
	for i := range choice.Victims {
		all.Go(func() { failed[i] = h.evict(ctx, pod, &choice.Victims[i]) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, nominated := range h.handle.NominatedPodsForNode(choice.Node) {
		other := nominated.GetPod()
		if other.UID == pod.UID || priorityOf(other) >= priorityOf(pod) || other.Status.NominatedNodeName == "" {
			continue
		}
		if err := h.patchStatus(ctx, other, map[string]any{"nominatedNodeName": nil}); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot clear the nomination", "pod", klog.KObj(other))
		}
	}
	return nil
}

func (h *Headroom) evict(ctx context.Context, preemptor *v1.Pod, victim *client.Victim) error {
	uid := types.UID(victim.UID)
	if h.handle.RejectWaitingPod(uid) {
		return nil // it was not bound yet
	}
	object := h.facts.pod(victim.Namespace + "/" + victim.Name)
	if object == nil || object.UID != uid || object.DeletionTimestamp != nil {
		return nil // gone, or going
	}
	condition := v1.PodCondition{
		Type:               v1.DisruptionTarget,
		Status:             v1.ConditionTrue,
		Reason:             v1.PodReasonPreemptionByScheduler,
		Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority pod or to reclaim quota", preemptor.Spec.SchedulerName),
		LastTransitionTime: metav1.Now(),
	}
	err := h.patchStatus(ctx, object, map[string]any{"conditions": []v1.PodCondition{condition}})
	if err == nil {
		err = h.handle.ClientSet().CoreV1().Pods(victim.Namespace).Delete(ctx, victim.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone already, or another pod of its name
	}
	if err != nil {
		return fmt.Errorf("preempting pod %s/%s: %w", victim.Namespace, victim.Name, err)
	}
	victimsTotal.Inc()
	h.handle.EventRecorder().Eventf(object, preemptor, v1.EventTypeNormal, "Preempted", "Preempting",
		"Preempted by pod %v on node %v", preemptor.UID, victim.Node)
	return nil
}

func (h *Headroom) patchStatus(ctx context.Context, pod *v1.Pod, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   status,
	})
	if err != nil {
		return err
	}
	_, err = h.handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
