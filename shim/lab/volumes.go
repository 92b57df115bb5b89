package lab

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CSIDriver is that of the lab's volumes.
const CSIDriver = "csi.lab.headroom.dev"

// bindCompleted tells kube-scheduler that a claim's volume is no longer in question.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// WaitingClass is a StorageClass whose claims wait for their first pod; its volumes exist already.
func WaitingClass(name string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}
}

// Volume of a zone: no other node reaches it.
func Volume(name, class, zone, size string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelZone: zone}},
		Spec: v1.PersistentVolumeSpec{
			Capacity:         v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			StorageClassName: class,
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: CSIDriver, VolumeHandle: name}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{
					{Key: labelZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}}}},
		},
	}
}

// Claim of a volume of that class.
func Claim(namespace, name, class, size string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}

// For says whose the volume is, as kube-scheduler does; BindClaims does the rest.
func For(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	volume.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1",
		Namespace: claim.Namespace, Name: claim.Name}
	return volume
}

// AttachLimit is the CSINode of a node that takes so many of the lab's volumes.
func AttachLimit(node string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: CSIDriver, NodeID: node,
			Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}}}
}

// BindClaims does what the volume controller would: a claim that a volume names is bound to it.
func (c *ControlPlane) BindClaims(ctx context.Context) error {
	volumes, err := c.Client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		if volume.Spec.ClaimRef == nil || volume.Status.Phase == v1.VolumeBound {
			continue
		}
		if err := c.bindClaim(ctx, volume); err != nil {
			return fmt.Errorf("lab: claim of volume %s: %w", volume.Name, err)
		}
	}
	return nil
}

func (c *ControlPlane) bindClaim(ctx context.Context, volume *v1.PersistentVolume) error {
	volumes, claims := c.Client.CoreV1().PersistentVolumes(), c.Client.CoreV1().PersistentVolumeClaims(volume.Spec.ClaimRef.Namespace)
	claim, err := claims.Get(ctx, volume.Spec.ClaimRef.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	volume.Spec.ClaimRef.UID = claim.UID
	if volume, err = volumes.Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	volume.Status.Phase = v1.VolumeBound
	if _, err = volumes.UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	claim.Spec.VolumeName = volume.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, bindCompleted, "yes")
	if claim, err = claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return err
	}
	claim.Status.Phase, claim.Status.Capacity = v1.ClaimBound, volume.Spec.Capacity
	claim.Status.AccessModes = volume.Spec.AccessModes
	_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}
