package client

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Objects that nodes and pods refer to, with the fields that objects/reading/object_reader.h reads and no others: a
// ReplicaSet carries a whole pod template, a Namespace what its managers noted.

type reducedObject interface{ kind() Kind }

// reducedHead is what every object begins with.
type reducedHead struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   reducedMetadata `json:"metadata"`
	of         Kind
}

func (h *reducedHead) kind() Kind { return h.of }

type reducedMetadata struct {
	Name              string                  `json:"name"`
	Namespace         string                  `json:"namespace,omitempty"`
	UID               types.UID               `json:"uid,omitempty"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

func head(kind Kind, version string, meta *metav1.ObjectMeta) reducedHead {
	return reducedHead{
		APIVersion: version,
		Kind:       referredKinds[kind-firstReferred],
		Metadata:   reducedMetadata{Name: meta.Name, Namespace: meta.Namespace},
		of:         kind,
	}
}

type reducedNamespace struct{ reducedHead }

func reduceNamespace(object *v1.Namespace) *reducedNamespace {
	reduced := &reducedNamespace{head(Namespaces, v1.SchemeGroupVersion.String(), &object.ObjectMeta)}
	reduced.Metadata.Labels = object.Labels
	return reduced
}

// selectorMap: absent is null, which differs from empty.
type selectorMap struct {
	Selector map[string]string `json:"selector"`
}

type reducedService struct {
	reducedHead
	Spec selectorMap `json:"spec"`
}

func reduceService(object *v1.Service) *reducedService {
	return &reducedService{
		head(Services, v1.SchemeGroupVersion.String(), &object.ObjectMeta),
		selectorMap{object.Spec.Selector},
	}
}

func reduceReplicationController(object *v1.ReplicationController) *reducedService {
	return &reducedService{
		head(ReplicationControllers, v1.SchemeGroupVersion.String(), &object.ObjectMeta),
		selectorMap{object.Spec.Selector},
	}
}

type selectorSpec struct {
	Selector *metav1.LabelSelector `json:"selector"`
}

type reducedWorkload struct {
	reducedHead
	Spec selectorSpec `json:"spec"`
}

func reduceWorkload(kind Kind, meta *metav1.ObjectMeta, selector *metav1.LabelSelector) *reducedWorkload {
	return &reducedWorkload{head(kind, appsv1.SchemeGroupVersion.String(), meta), selectorSpec{selector}}
}

// storageAnnotations are those of objects/annotations.h that volumes and claims have.
var storageAnnotations = []string{
	v1.BetaStorageClassAnnotation,
	"pv.kubernetes.io/bind-completed",
	"volume.kubernetes.io/selected-node",
}

func storageMetadata(meta *metav1.ObjectMeta) reducedMetadata {
	reduced := reducedMetadata{Name: meta.Name, Namespace: meta.Namespace, DeletionTimestamp: meta.DeletionTimestamp}
	for _, key := range storageAnnotations {
		if value, ok := meta.Annotations[key]; ok {
			if reduced.Annotations == nil {
				reduced.Annotations = map[string]string{}
			}
			reduced.Annotations[key] = value
		}
	}
	return reduced
}

type storage struct {
	Storage *resource.Quantity `json:"storage,omitempty"`
}

func storageOf(list v1.ResourceList) storage {
	if quantity, ok := list[v1.ResourceStorage]; ok {
		return storage{&quantity}
	}
	return storage{}
}

type reducedPhase struct {
	Phase string `json:"phase,omitempty"`
}

type reducedPersistentVolume struct {
	reducedHead
	Spec   reducedVolumeSpec `json:"spec"`
	Status reducedPhase      `json:"status"`
}

type reducedVolumeSpec struct {
	Capacity         storage                         `json:"capacity"`
	AccessModes      []v1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	StorageClassName string                          `json:"storageClassName,omitempty"`
	VolumeMode       *v1.PersistentVolumeMode        `json:"volumeMode,omitempty"`
	AttributesClass  *string                         `json:"volumeAttributesClassName,omitempty"`
	NodeAffinity     *v1.VolumeNodeAffinity          `json:"nodeAffinity,omitempty"`
	ClaimRef         *claimRef                       `json:"claimRef,omitempty"`
	CSI              *csiSource                      `json:"csi,omitempty"`

	GCEPersistentDisk    *gceDisk       `json:"gcePersistentDisk,omitempty"`
	AWSElasticBlockStore *volumeDisk    `json:"awsElasticBlockStore,omitempty"`
	AzureDisk            *azureDisk     `json:"azureDisk,omitempty"`
	Cinder               *volumeDisk    `json:"cinder,omitempty"`
	PortworxVolume       *volumeDisk    `json:"portworxVolume,omitempty"`
	AzureFile            *azureFile     `json:"azureFile,omitempty"`
	VsphereVolume        *vsphereVolume `json:"vsphereVolume,omitempty"`
	ISCSI                *iscsiDisk     `json:"iscsi,omitempty"`
	RBD                  *rbdDisk       `json:"rbd,omitempty"`
}

type claimRef struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
}

type csiSource struct {
	Driver       string `json:"driver"`
	VolumeHandle string `json:"volumeHandle"`
}

type gceDisk struct {
	PDName   string `json:"pdName"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

type volumeDisk struct {
	VolumeID string `json:"volumeID"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

type azureDisk struct {
	DiskURI  string `json:"diskURI"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

type azureFile struct {
	ShareName string `json:"shareName"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

type vsphereVolume struct {
	VolumePath string `json:"volumePath"`
}

type iscsiDisk struct {
	IQN      string `json:"iqn"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

type rbdDisk struct {
	Monitors []string `json:"monitors,omitempty"`
	Image    string   `json:"image"`
	Pool     string   `json:"pool,omitempty"`
	ReadOnly bool     `json:"readOnly,omitempty"`
}

func reducePersistentVolume(object *v1.PersistentVolume) *reducedPersistentVolume {
	reduced := &reducedPersistentVolume{
		reducedHead: head(PersistentVolumes, v1.SchemeGroupVersion.String(), &object.ObjectMeta),
		Spec: reducedVolumeSpec{
			Capacity:         storageOf(object.Spec.Capacity),
			AccessModes:      object.Spec.AccessModes,
			StorageClassName: object.Spec.StorageClassName,
			VolumeMode:       object.Spec.VolumeMode,
			AttributesClass:  object.Spec.VolumeAttributesClassName,
			NodeAffinity:     object.Spec.NodeAffinity,
		},
		Status: reducedPhase{string(object.Status.Phase)},
	}
	reduced.Metadata = storageMetadata(&object.ObjectMeta)
	reduced.Metadata.Labels = object.Labels
	if claim := object.Spec.ClaimRef; claim != nil {
		reduced.Spec.ClaimRef = &claimRef{claim.Namespace, claim.Name, claim.UID}
	}
	reduced.Spec.source(&object.Spec.PersistentVolumeSource)
	return reduced
}

func (s *reducedVolumeSpec) source(of *v1.PersistentVolumeSource) {
	if its := of.CSI; its != nil {
		s.CSI = &csiSource{its.Driver, its.VolumeHandle}
	}
	if its := of.GCEPersistentDisk; its != nil {
		s.GCEPersistentDisk = &gceDisk{its.PDName, its.ReadOnly}
	}
	if its := of.AWSElasticBlockStore; its != nil {
		s.AWSElasticBlockStore = &volumeDisk{its.VolumeID, its.ReadOnly}
	}
	if its := of.AzureDisk; its != nil {
		s.AzureDisk = &azureDisk{its.DataDiskURI, isTrue(its.ReadOnly)}
	}
	if its := of.Cinder; its != nil {
		s.Cinder = &volumeDisk{its.VolumeID, its.ReadOnly}
	}
	if its := of.PortworxVolume; its != nil {
		s.PortworxVolume = &volumeDisk{its.VolumeID, its.ReadOnly}
	}
	if its := of.AzureFile; its != nil {
		s.AzureFile = &azureFile{its.ShareName, its.ReadOnly}
	}
	if its := of.VsphereVolume; its != nil {
		s.VsphereVolume = &vsphereVolume{its.VolumePath}
	}
	if its := of.ISCSI; its != nil {
		s.ISCSI = &iscsiDisk{its.IQN, its.ReadOnly}
	}
	if its := of.RBD; its != nil {
		s.RBD = &rbdDisk{its.CephMonitors, its.RBDImage, its.RBDPool, its.ReadOnly}
	}
}

type reducedPersistentVolumeClaim struct {
	reducedHead
	Spec   reducedClaimSpec `json:"spec"`
	Status reducedPhase     `json:"status"`
}

type reducedClaimSpec struct {
	AccessModes      []v1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	Selector         *metav1.LabelSelector           `json:"selector,omitempty"`
	Resources        reducedRequests                 `json:"resources"`
	VolumeName       string                          `json:"volumeName,omitempty"`
	StorageClassName *string                         `json:"storageClassName,omitempty"`
	VolumeMode       *v1.PersistentVolumeMode        `json:"volumeMode,omitempty"`
	AttributesClass  *string                         `json:"volumeAttributesClassName,omitempty"`
}

type reducedRequests struct {
	Requests storage `json:"requests"`
}

func reducePersistentVolumeClaim(object *v1.PersistentVolumeClaim) *reducedPersistentVolumeClaim {
	reduced := &reducedPersistentVolumeClaim{
		reducedHead: head(PersistentVolumeClaims, v1.SchemeGroupVersion.String(), &object.ObjectMeta),
		Spec: reducedClaimSpec{
			AccessModes:      object.Spec.AccessModes,
			Selector:         object.Spec.Selector,
			Resources:        reducedRequests{storageOf(object.Spec.Resources.Requests)},
			VolumeName:       object.Spec.VolumeName,
			StorageClassName: object.Spec.StorageClassName,
			VolumeMode:       object.Spec.VolumeMode,
			AttributesClass:  object.Spec.VolumeAttributesClassName,
		},
		Status: reducedPhase{string(object.Status.Phase)},
	}
	reduced.Metadata = storageMetadata(&object.ObjectMeta)
	reduced.Metadata.UID = object.UID
	if owner := metav1.GetControllerOf(object); owner != nil {
		owner.BlockOwnerDeletion = nil
		reduced.Metadata.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return reduced
}

type reducedStorageClass struct {
	reducedHead
	Provisioner       string                       `json:"provisioner"`
	VolumeBindingMode *storagev1.VolumeBindingMode `json:"volumeBindingMode,omitempty"`
	AllowedTopologies []v1.TopologySelectorTerm    `json:"allowedTopologies,omitempty"`
}

func reduceStorageClass(object *storagev1.StorageClass) *reducedStorageClass {
	return &reducedStorageClass{
		head(StorageClasses, storagev1.SchemeGroupVersion.String(), &object.ObjectMeta),
		object.Provisioner, object.VolumeBindingMode, object.AllowedTopologies,
	}
}

type reducedCSINode struct {
	reducedHead
	Spec reducedDrivers `json:"spec"`
}

type reducedDrivers struct {
	Drivers []reducedNodeDriver `json:"drivers"`
}

type reducedNodeDriver struct {
	Name        string                         `json:"name"`
	Allocatable *storagev1.VolumeNodeResources `json:"allocatable,omitempty"`
}

func reduceCSINode(object *storagev1.CSINode) *reducedCSINode {
	reduced := &reducedCSINode{reducedHead: head(CSINodes, storagev1.SchemeGroupVersion.String(), &object.ObjectMeta)}
	for i := range object.Spec.Drivers {
		driver := &object.Spec.Drivers[i]
		reduced.Spec.Drivers = append(reduced.Spec.Drivers, reducedNodeDriver{driver.Name, driver.Allocatable})
	}
	return reduced
}

type reducedCSIDriver struct {
	reducedHead
	Spec reducedDriverSpec `json:"spec"`
}

type reducedDriverSpec struct {
	StorageCapacity               *bool `json:"storageCapacity,omitempty"`
	PreventPodSchedulingIfMissing *bool `json:"preventPodSchedulingIfMissing,omitempty"`
}

func reduceCSIDriver(object *storagev1.CSIDriver) *reducedCSIDriver {
	return &reducedCSIDriver{
		head(CSIDrivers, storagev1.SchemeGroupVersion.String(), &object.ObjectMeta),
		reducedDriverSpec{object.Spec.StorageCapacity, preventPodSchedulingIfMissing(&object.Spec)},
	}
}

type reducedCSIStorageCapacity struct {
	reducedHead
	StorageClassName  string                `json:"storageClassName"`
	NodeTopology      *metav1.LabelSelector `json:"nodeTopology,omitempty"`
	Capacity          *resource.Quantity    `json:"capacity,omitempty"`
	MaximumVolumeSize *resource.Quantity    `json:"maximumVolumeSize,omitempty"`
}

func reduceCSIStorageCapacity(object *storagev1.CSIStorageCapacity) *reducedCSIStorageCapacity {
	return &reducedCSIStorageCapacity{
		head(CSIStorageCapacities, storagev1.SchemeGroupVersion.String(), &object.ObjectMeta),
		object.StorageClassName, object.NodeTopology, copied(object.Capacity), copied(object.MaximumVolumeSize),
	}
}

// copied: writing a quantity keeps its text in it, and the object is others' too.
func copied(quantity *resource.Quantity) *resource.Quantity {
	if quantity == nil {
		return nil
	}
	own := quantity.DeepCopy()
	return &own
}
