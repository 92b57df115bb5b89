package client

import (
	"encoding/json"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"headroom.dev/shim/wire"
)

// referredObject builds the fact of an object that nodes and pods refer to: its JSON, reduced to what is read.
func (e *encoder) referredObject(kind Kind, object any) (flatbuffers.UOffsetT, error) {
	reduced := reduce(object)
	if reduced == nil || kind != reduced.kind() {
		return 0, fmt.Errorf("%s: an object of type %T", kind, object)
	}
	text, err := json.Marshal(reduced)
	if err != nil {
		return 0, err
	}
	offset := e.b.CreateByteString(text)
	wire.ReferredObjectStart(e.b)
	wire.ReferredObjectAddJson(e.b, offset)
	return e.change(wire.FactReferredObject, wire.ReferredObjectEnd(e.b)), nil
}

// removedReferredObject builds the fact that it is gone.
func (e *encoder) removedReferredObject(kind Kind, namespace, name string) flatbuffers.UOffsetT {
	k := e.string(referredKinds[kind-firstReferred])
	if namespace != "" {
		name = namespace + "/" + name
	}
	key := e.string(name)
	wire.RemovedReferredObjectStart(e.b)
	wire.RemovedReferredObjectAddKind(e.b, k)
	wire.RemovedReferredObjectAddKey(e.b, key)
	return e.change(wire.FactRemovedReferredObject, wire.RemovedReferredObjectEnd(e.b))
}

// reduce is nil for an object of no such kind.
func reduce(object any) reducedObject {
	switch object := object.(type) {
	case *v1.Namespace:
		return reduceNamespace(object)
	case *v1.Service:
		return reduceService(object)
	case *v1.ReplicationController:
		return reduceReplicationController(object)
	case *appsv1.ReplicaSet:
		return reduceWorkload(ReplicaSets, &object.ObjectMeta, object.Spec.Selector)
	case *appsv1.StatefulSet:
		return reduceWorkload(StatefulSets, &object.ObjectMeta, object.Spec.Selector)
	case *v1.PersistentVolume:
		return reducePersistentVolume(object)
	case *v1.PersistentVolumeClaim:
		return reducePersistentVolumeClaim(object)
	case *storagev1.StorageClass:
		return reduceStorageClass(object)
	case *storagev1.CSINode:
		return reduceCSINode(object)
	case *storagev1.CSIDriver:
		return reduceCSIDriver(object)
	case *storagev1.CSIStorageCapacity:
		return reduceCSIStorageCapacity(object)
	}
	return nil
}
