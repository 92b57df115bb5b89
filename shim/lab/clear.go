package lab

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CreateNamespaces that are not there yet.
func (c *ControlPlane) CreateNamespaces(ctx context.Context, names ...string) error {
	return parallel(ctx, len(names), func(i int) error {
		namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}
		_, err := c.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// Clear deletes every pod, node, NodeMetric, quota, disruption budget, ReplicaSet, service, volume, device
// and claim, and the lab's priority classes: the next test finds an empty cluster. Namespaces stay: no
// controller would end them.
func (c *ControlPlane) Clear(ctx context.Context) error {
	namespaces, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	now, all := *metav1.NewDeleteOptions(0), metav1.ListOptions{}
	err = parallel(ctx, len(namespaces.Items), func(i int) error {
		name := namespaces.Items[i].Name
		return errors.Join(
			c.Client.CoreV1().Pods(name).DeleteCollection(ctx, now, all),
			c.Client.PolicyV1().PodDisruptionBudgets(name).DeleteCollection(ctx, now, all),
			c.Client.AppsV1().ReplicaSets(name).DeleteCollection(ctx, now, all),
			c.Client.CoreV1().PersistentVolumeClaims(name).DeleteCollection(ctx, now, all),
			c.clearDeviceClaims(ctx, name),
			c.clearServices(ctx, name),
			ignoreMissing(c.Dynamic.Resource(ElasticQuotas).Namespace(name).DeleteCollection(ctx, now, all)),
		)
	})
	return errors.Join(err,
		c.Client.CoreV1().Nodes().DeleteCollection(ctx, now, all),
		c.Client.CoreV1().PersistentVolumes().DeleteCollection(ctx, now, all),
		c.Client.StorageV1().StorageClasses().DeleteCollection(ctx, now, all),
		c.Client.StorageV1().CSINodes().DeleteCollection(ctx, now, all),
		c.Client.ResourceV1().ResourceSlices().DeleteCollection(ctx, now, all),
		c.Client.ResourceV1().DeviceClasses().DeleteCollection(ctx, now, all),
		ignoreMissing(c.Dynamic.Resource(NodeMetrics).DeleteCollection(ctx, now, all)),
		ignoreMissing(c.Dynamic.Resource(CapacityQuotas).DeleteCollection(ctx, now, all)),
		c.clearPriorities(ctx))
}

// ignoreMissing: a CRD that is not installed has nothing to delete.
func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// clearServices but the API server's own.
func (c *ControlPlane) clearServices(ctx context.Context, namespace string) error {
	services, err := c.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, service := range services.Items {
		if service.Name != "kubernetes" {
			err = errors.Join(err, c.Client.CoreV1().Services(namespace).Delete(ctx, service.Name, metav1.DeleteOptions{}))
		}
	}
	return err
}

// clearDeviceClaims also where devices are given out for them: no controller takes the finalizer off.
func (c *ControlPlane) clearDeviceClaims(ctx context.Context, namespace string) error {
	claims := c.Client.ResourceV1().ResourceClaims(namespace)
	found, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range found.Items {
		if len(claim.Finalizers) > 0 {
			_, changed := claims.Patch(ctx, claim.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
			err = errors.Join(err, changed)
		}
		err = errors.Join(err, claims.Delete(ctx, claim.Name, *metav1.NewDeleteOptions(0)))
	}
	return err
}

func (c *ControlPlane) clearPriorities(ctx context.Context) error {
	classes, err := c.Client.SchedulingV1().PriorityClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, class := range classes.Items {
		if strings.HasPrefix(class.Name, priorityPrefix) {
			err = errors.Join(err, c.Client.SchedulingV1().PriorityClasses().Delete(ctx, class.Name, metav1.DeleteOptions{}))
		}
	}
	return err
}
