package client

import (
	"math/bits"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// notConsideredSet is what a pod asks for beyond the fields that are sent: a bit for each of
// wire.NotConsidered.
type notConsideredSet uint32

func (s *notConsideredSet) add(what wire.NotConsidered, asks bool) {
	if asks {
		*s |= 1 << what
	}
}

// notConsideredOf is what the object alone says; the server knows its profile's schedulerName, and its
// nodes' taints. As objects/reading/pod_json.cpp reads it.
func notConsideredOf(pod *v1.Pod) notConsideredSet {
	var set notConsideredSet
	set.add(wire.NotConsideredSchedulingGates, len(pod.Spec.SchedulingGates) > 0)
	set.add(wire.NotConsideredResourceClaims, len(pod.Spec.ResourceClaims) > 0)
	if affinity := pod.Spec.Affinity; affinity != nil {
		if with := affinity.PodAffinity; with != nil {
			set.add(wire.NotConsideredRequiredPodAffinity, len(with.RequiredDuringSchedulingIgnoredDuringExecution) > 0)
			set.add(wire.NotConsideredPreferredPodAffinity, len(with.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
		}
		if apart := affinity.PodAntiAffinity; apart != nil {
			set.add(wire.NotConsideredRequiredPodAntiAffinity, len(apart.RequiredDuringSchedulingIgnoredDuringExecution) > 0)
			set.add(wire.NotConsideredPreferredPodAntiAffinity, len(apart.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
		}
		if nodes := affinity.NodeAffinity; nodes != nil {
			set.add(wire.NotConsideredPreferredNodeAffinity, len(nodes.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		soft := pod.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable == v1.ScheduleAnyway
		set.add(wire.NotConsideredSoftTopologySpread, soft)
		set.add(wire.NotConsideredHardTopologySpread, !soft)
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i].VolumeSource
		set.add(wire.NotConsideredPersistentVolumeClaims, volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil)
		set.add(wire.NotConsideredVolumes, isAttached(volume))
	}
	return set
}

// isAttached: kube-scheduler's volume plugins look at it, or not every node can attach it.
func isAttached(volume *v1.VolumeSource) bool {
	return volume.AWSElasticBlockStore != nil || volume.AzureDisk != nil || volume.AzureFile != nil ||
		volume.Cinder != nil || volume.CSI != nil || volume.FC != nil || volume.FlexVolume != nil ||
		volume.GCEPersistentDisk != nil || volume.ISCSI != nil || volume.PhotonPersistentDisk != nil ||
		volume.PortworxVolume != nil || volume.RBD != nil || volume.ScaleIO != nil ||
		volume.StorageOS != nil || volume.VsphereVolume != nil
}

// notConsidered is absent where there is none.
func (e *encoder) notConsidered(set notConsideredSet) flatbuffers.UOffsetT {
	if set == 0 {
		return 0
	}
	count := bits.OnesCount32(uint32(set))
	e.b.StartVector(1, count, 1)
	for left := set; left != 0; {
		last := bits.Len32(uint32(left)) - 1
		e.b.PrependByte(byte(last))
		left &^= 1 << last
	}
	return e.b.EndVector(count)
}
