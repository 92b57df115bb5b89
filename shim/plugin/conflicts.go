package plugin

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Why a pod did not get the node that was chosen for it, because others were faster: the engine refused to
// reserve the node, or the kubelet did not admit the pod. The last one is of a resource that only some
// nodes have (OutOfNAME).
const (
	conflictReserve          = "reserve"
	conflictExtendedResource = "extended_resource"
)

var kubeletConflicts = []string{"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "NodeAffinity", "NodePorts"}

// endedPodsMax pods wait to be looked up; beyond that those that end are not looked at.
const endedPodsMax = 1024

// conflicts counts the pods of this scheduler that their kubelets do not admit. The scheduler's informer
// knows no pods that have failed: one that is gone from it, bound and never begun, and that nobody
// deleted, is looked up. Each has failed for good; its controller makes another.
type conflicts struct {
	api   clientset.Interface
	ended chan *v1.Pod
}

func newConflicts(api clientset.Interface) *conflicts {
	return &conflicts{api: api, ended: make(chan *v1.Pod, endedPodsMax)}
}

// gone: the informer has the pod no more.
func (c *conflicts) gone(pod *v1.Pod) {
	begun := pod.Status.Phase != v1.PodPending || pod.Status.StartTime != nil
	if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || begun {
		return
	}
	select {
	case c.ended <- pod:
	default:
	}
}

// run looks pods up until ctx ends.
func (c *conflicts) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case pod := <-c.ended:
			c.look(ctx, pod)
		}
	}
}

func (c *conflicts) look(ctx context.Context, pod *v1.Pod) {
	logger := klog.FromContext(ctx).WithValues("pod", klog.KObj(pod), "node", pod.Spec.NodeName)
	now, err := c.api.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		logger.V(4).Info("Cannot tell why the pod ended", "why", err)
		return
	}
	if reason := conflictOf(now.Status.Reason); now.UID == pod.UID && now.Status.Phase == v1.PodFailed && reason != "" {
		conflictsTotal.WithLabelValues(reason).Inc()
		logger.Info("The kubelet did not admit the pod: its node is not as this scheduler knew it",
			"reason", now.Status.Reason, "message", now.Status.Message)
	}
}

// conflictOf is the label of what a kubelet gives as the reason of a failed pod; "": it has not to do with
// others.
func conflictOf(reason string) string {
	switch {
	case slices.Contains(kubeletConflicts, reason):
		return reason
	case strings.HasPrefix(reason, "OutOf"):
		return conflictExtendedResource
	default:
		return ""
	}
}
