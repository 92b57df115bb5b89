package client

import (
	"maps"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"headroom.dev/shim/wire"
)

// nodeAnnotations are those of objects/annotations.h that nodes have.
var nodeAnnotations = []string{
	"node.koordinator.sh/limit-to-allocatable",
	"node.koordinator.sh/raw-allocatable",
	"scheduling.koordinator.sh/usage-thresholds",
	"headroom/reservation",
}

// SameNode tells whether the engine would be told the same of both: most updates of a node are of its
// conditions.
func SameNode(a, b *v1.Node) bool {
	return a.Name == b.Name && maps.Equal(a.Labels, b.Labels) && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		(a.DeletionTimestamp != nil) == (b.DeletionTimestamp != nil) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(a, b v1.Taint) bool {
			return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect
		}) &&
		!slices.ContainsFunc(nodeAnnotations, func(key string) bool {
			was, had := a.Annotations[key]
			is, has := b.Annotations[key]
			return was != is || had != has
		}) &&
		sameResources(a.Status.Allocatable, b.Status.Allocatable) &&
		sameResources(a.Status.Capacity, b.Status.Capacity) &&
		slices.Equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures) &&
		slices.EqualFunc(a.Status.Images, b.Status.Images, func(a, b v1.ContainerImage) bool {
			return a.SizeBytes == b.SizeBytes && slices.Equal(a.Names, b.Names)
		})
}

func sameResources(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
}

func (e *encoder) node(node *v1.Node) flatbuffers.UOffsetT {
	name := e.string(node.Name)
	labels := e.stringMap(node.Labels)
	annotations := e.annotations(node.Annotations, nodeAnnotations)
	taints := e.taints(node.Spec.Taints)
	allocatable := e.resources(node.Status.Allocatable)
	capacity := e.resources(node.Status.Capacity)
	images := e.images(node.Status.Images)
	features := e.strings(node.Status.DeclaredFeatures)
	wire.NodeStart(e.b)
	wire.NodeAddName(e.b, name)
	wire.NodeAddLabels(e.b, labels)
	wire.NodeAddAnnotations(e.b, annotations)
	wire.NodeAddUnschedulable(e.b, node.Spec.Unschedulable)
	wire.NodeAddTaints(e.b, taints)
	wire.NodeAddAllocatable(e.b, allocatable)
	wire.NodeAddCapacity(e.b, capacity)
	wire.NodeAddDeleting(e.b, node.DeletionTimestamp != nil)
	wire.NodeAddImages(e.b, images)
	wire.NodeAddDeclaredFeatures(e.b, features)
	return wire.NodeEnd(e.b)
}

func (e *encoder) images(list []v1.ContainerImage) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range list {
		names := e.strings(list[i].Names)
		wire.ContainerImageStart(e.b)
		wire.ContainerImageAddNames(e.b, names)
		wire.ContainerImageAddSizeBytes(e.b, list[i].SizeBytes)
		e.push(wire.ContainerImageEnd(e.b))
	}
	return e.vector(mark)
}

func (e *encoder) taints(list []v1.Taint) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range list {
		key := e.optional(list[i].Key)
		value := e.optional(list[i].Value)
		effect := e.optional(string(list[i].Effect))
		wire.TaintStart(e.b)
		wire.TaintAddKey(e.b, key)
		wire.TaintAddValue(e.b, value)
		wire.TaintAddEffect(e.b, effect)
		e.push(wire.TaintEnd(e.b))
	}
	return e.vector(mark)
}
