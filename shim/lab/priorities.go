package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A class is named by its value, so that a pod's option is enough to make it.
const (
	priorityPrefix = "lab-priority-"
	neverSuffix    = "-never"
)

// classPatience is how long the API server's admission may not know a class that it has stored.
const classPatience = 5 * time.Second

func isClassUnknown(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "no PriorityClass")
}

func priorityClassName(value int32) string {
	return priorityPrefix + strings.ReplaceAll(strconv.Itoa(int(value)), "-", "minus-")
}

// createPriorities makes the classes that pods name by Priority and NonPreempting.
func (c *ControlPlane) createPriorities(ctx context.Context, pods []*v1.Pod) error {
	made := map[string]bool{}
	for _, pod := range pods {
		name := pod.Spec.PriorityClassName
		text, ours := strings.CutPrefix(name, priorityPrefix)
		if !ours || made[name] {
			continue
		}
		made[name] = true
		policy := v1.PreemptLowerPriority
		if number, never := strings.CutSuffix(text, neverSuffix); never {
			text, policy = number, v1.PreemptNever
		}
		value, err := strconv.ParseInt(strings.ReplaceAll(text, "minus-", "-"), 10, 32)
		if err != nil {
			return fmt.Errorf("lab: priority class %s: %w", name, err)
		}
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(value),
			PreemptionPolicy: &policy}
		_, err = c.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
