package lab

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Service of the pods with that label.
func Service(namespace, name, label, value string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.ServiceSpec{Selector: map[string]string{label: value},
			Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}}}
}

// ReplicaSet of the pods with that label. There is no controller behind it: it has none of its own.
func ReplicaSet(namespace, name, label, value string) *appsv1.ReplicaSet {
	var none int32
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.ReplicaSetSpec{Replicas: &none, Selector: selector(label, value),
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: value}},
				Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "none"}}}}}}
}

// Budget of the pods with that label: so many of them may be evicted.
func Budget(namespace, name string, allowed int32, label, value string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: selector(label, value)},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}
}

// CreateObjects creates what nodes and pods refer to, one after the other, with the status of
// budgets; volumes are available.
func (c *ControlPlane) CreateObjects(ctx context.Context, objects ...metav1.Object) error {
	for _, object := range objects {
		if err := c.createObject(ctx, object); err != nil {
			return fmt.Errorf("lab: %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

func (c *ControlPlane) createObject(ctx context.Context, object metav1.Object) (err error) {
	options, namespace := metav1.CreateOptions{}, object.GetNamespace()
	switch object := object.(type) {
	case *v1.Service:
		_, err = c.Client.CoreV1().Services(namespace).Create(ctx, object, options)
	case *appsv1.ReplicaSet:
		_, err = c.Client.AppsV1().ReplicaSets(namespace).Create(ctx, object, options)
	case *v1.PersistentVolume:
		volumes := c.Client.CoreV1().PersistentVolumes()
		var stored *v1.PersistentVolume
		if stored, err = volumes.Create(ctx, object, options); err == nil {
			stored.Status.Phase = v1.VolumeAvailable
			_, err = volumes.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
		}
	case *v1.PersistentVolumeClaim:
		_, err = c.Client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, object, options)
	case *storagev1.StorageClass:
		_, err = c.Client.StorageV1().StorageClasses().Create(ctx, object, options)
	case *storagev1.CSINode:
		_, err = c.Client.StorageV1().CSINodes().Create(ctx, object, options)
	case *resourcev1.DeviceClass:
		_, err = c.Client.ResourceV1().DeviceClasses().Create(ctx, object, options)
	case *resourcev1.ResourceSlice:
		_, err = c.Client.ResourceV1().ResourceSlices().Create(ctx, object, options)
	case *resourcev1.ResourceClaim:
		_, err = c.Client.ResourceV1().ResourceClaims(namespace).Create(ctx, object, options)
	case *policyv1.PodDisruptionBudget:
		budgets := c.Client.PolicyV1().PodDisruptionBudgets(namespace)
		var stored *policyv1.PodDisruptionBudget
		if stored, err = budgets.Create(ctx, object, options); err == nil {
			stored.Status = object.Status
			_, err = budgets.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
		}
	default:
		err = fmt.Errorf("the lab creates none")
	}
	return err
}
