package client

import "slices"

// Kind is what a fact is about.
type Kind uint8

// The kinds: those that every server is fed, then those that nodes and pods refer to.
const (
	Nodes Kind = iota
	Pods
	NodeMetrics
	ElasticQuotas
	PodDisruptionBudgets
	PriorityClasses
	CapacityQuotas
	Namespaces
	Services
	ReplicationControllers
	ReplicaSets
	StatefulSets
	PersistentVolumes
	PersistentVolumeClaims
	StorageClasses
	CSINodes
	CSIDrivers
	CSIStorageCapacities
	kindCount
)

// The first of those that nodes and pods refer to. A server is fed those that its profile reads.
const firstReferred = Namespaces

var kindNames = [kindCount]string{
	"Nodes", "Pods", "NodeMetrics", "ElasticQuotas", "PodDisruptionBudgets", "PriorityClasses", "CapacityQuotas",
	"Namespaces", "Services", "ReplicationControllers", "ReplicaSets", "StatefulSets",
	"PersistentVolumes", "PersistentVolumeClaims", "StorageClasses", "CSINodes", "CSIDrivers", "CSIStorageCapacities",
}

// referredKinds are their names in objects and on the wire.
var referredKinds = [kindCount - firstReferred]string{
	"Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet",
	"PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity",
}

func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return "unknown kind"
}

// ReferredKinds are the kinds of objects that some profile of the server reads of those that nodes and pods
// refer to. Those that this package does not know are not among them.
func (g *Greeting) ReferredKinds() []Kind {
	var kinds []Kind
	for kind := firstReferred; kind < kindCount; kind++ {
		for i := range g.Profiles {
			if slices.Contains(g.Profiles[i].ReferredKinds, referredKinds[kind-firstReferred]) {
				kinds = append(kinds, kind)
				break
			}
		}
	}
	return kinds
}

// Store is what the feeder reads of an informer's cache.Store: objects by key, "name" or "namespace/name".
// Objects are *v1.Node, *v1.Pod and so on by Kubernetes' types of the newest version of each kind, and
// *unstructured.Unstructured for NodeMetric (slo.koordinator.sh/v1alpha1), ElasticQuota
// (scheduling.x-k8s.io/v1alpha1) and CapacityQuota (autoscaling.x-k8s.io/v1beta1). They are only read.
type Store interface {
	GetByKey(key string) (item any, exists bool, err error)
	List() []any
}
