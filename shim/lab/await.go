package lab

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namedMax pods are told by name in an error.
const namedMax = 8

// Placed are the nodes of pods, by their names in one namespace.
type Placed map[string]string

// AwaitBound waits until the pods of these names have a node. No name: all pods of the namespace, of
// which there must be one. The error tells those that have none, and what the scheduler says of them.
func (c *ControlPlane) AwaitBound(ctx context.Context, within time.Duration, namespace string, names ...string) (Placed, error) {
	var placed Placed
	err := Eventually(ctx, within, func() error {
		pods, err := c.Pods(ctx, namespace)
		if err != nil {
			return err
		}
		placed, err = bound(pods, names)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lab: pods of %s: %w", namespace, err)
	}
	return placed, nil
}

func bound(pods []v1.Pod, names []string) (Placed, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	placed := Placed{}
	var waiting []string
	for i := range pods {
		pod := &pods[i]
		if len(names) > 0 && !wanted[pod.Name] {
			continue
		}
		delete(wanted, pod.Name)
		if pod.Spec.NodeName == "" {
			waiting = append(waiting, pod.Name+" ("+Message(pod)+")")
			continue
		}
		placed[pod.Name] = pod.Spec.NodeName
	}
	for name := range wanted {
		waiting = append(waiting, name+" (does not exist)")
	}
	if len(waiting) == 0 && len(placed) > 0 {
		return placed, nil
	}
	sort.Strings(waiting)
	all := len(waiting)
	if all > namedMax {
		waiting = append(waiting[:namedMax], "...")
	}
	return nil, fmt.Errorf("%d bound, %d without a node: %s", len(placed), all, strings.Join(waiting, "; "))
}

// Pods of a namespace; "": of all.
func (c *ControlPlane) Pods(ctx context.Context, namespace string) ([]v1.Pod, error) {
	list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Message is what the scheduler says of a pod without a node: its condition PodScheduled, or that it
// said nothing yet.
func Message(pod *v1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled {
			return condition.Reason + ": " + condition.Message
		}
	}
	return "not tried"
}

// AwaitRejected waits until the scheduler has rejected the pod with a message that has all these parts.
func (c *ControlPlane) AwaitRejected(ctx context.Context, within time.Duration, namespace, name string, parts ...string) error {
	err := Eventually(ctx, within, func() error {
		pod, err := c.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Spec.NodeName != "" {
			return fmt.Errorf("it is on node %s", pod.Spec.NodeName)
		}
		message := Message(pod)
		if !rejected(pod) {
			return errors.New(message)
		}
		for _, part := range parts {
			if !strings.Contains(message, part) {
				return fmt.Errorf("the message has no %q: %s", part, message)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("lab: pod %s/%s is not rejected as expected: %w", namespace, name, err)
	}
	return nil
}

func rejected(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
			return true
		}
	}
	return false
}

// StaysPending watches for that long that the pods get no node.
func (c *ControlPlane) StaysPending(ctx context.Context, howLong time.Duration, namespace string, names ...string) error {
	for end := time.Now().Add(howLong); time.Now().Before(end); time.Sleep(eventuallyInterval) {
		for _, name := range names {
			pod, err := c.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if pod.Spec.NodeName != "" {
				return fmt.Errorf("lab: pod %s/%s should have waited, but is on node %s", namespace, name, pod.Spec.NodeName)
			}
		}
	}
	return nil
}

// AwaitGone waits until none of the pods exists.
func (c *ControlPlane) AwaitGone(ctx context.Context, within time.Duration, namespace string, names ...string) error {
	return Eventually(ctx, within, func() error {
		for _, name := range names {
			_, err := c.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				return fmt.Errorf("lab: pod %s/%s is still there", namespace, name)
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}
