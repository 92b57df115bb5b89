package plugin

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"headroom.dev/shim/wire"
)

func TestWidth(t *testing.T) {
	plain := &v1.Pod{}
	antiAffinity := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}}}}}}
	spread := &v1.Pod{Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{{WhenUnsatisfiable: v1.DoNotSchedule}}}}
	softSpread := &v1.Pod{Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{{WhenUnsatisfiable: v1.ScheduleAnyway}}}}
	affinity := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAffinity: &v1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone"}}}}}}
	preferred := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAffinity: &v1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1}}}}}}
	volume := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}}}
	scratch := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}}}
	device := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"deviceclass.resource.kubernetes.io/gpu": resource.MustParse("1")}}}}}}
	claim := &v1.Pod{Spec: v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "gpu"}}}}
	everything := make([]wire.NotConsidered, 0, len(wire.EnumNamesNotConsidered))
	for what := range wire.EnumNamesNotConsidered {
		if what != wire.NotConsideredResourceClaims && what != wire.NotConsideredSchedulerName {
			everything = append(everything, what)
		}
	}
	// Without a greeting, or from a server that does not say: nothing.
	for _, c := range []struct {
		name           string
		pod            *v1.Pod
		topK, rejected int
		decided, bare  int // everything is decided, nothing is
	}{
		{"plain", plain, 0, 0, 1, 16},
		{"one", plain, 1, 0, 1, 1},
		{"more names", plain, 32, 0, 32, 32},
		{"rejected once", plain, 0, 1, 16, 96},
		{"rejected twice", plain, 0, 2, 96, 576},
		{"rejected three times", plain, 0, 3, 576, noLimit},
		{"rejected often", plain, 0, 1 << 30, noLimit, noLimit},
		{"four rejected", plain, 4, 1, 24, 24},
		{"anti-affinity", antiAffinity, 0, 0, 1, 96},
		{"anti-affinity, rejected", antiAffinity, 0, 1, 16, 576},
		{"anti-affinity, four", antiAffinity, 4, 0, 4, 24},
		{"hard spread", spread, 0, 0, 1, 96},
		{"soft spread", softSpread, 0, 0, 1, 16},
		{"affinity", affinity, 0, 0, 1, noLimit},
		{"preferred affinity", preferred, 0, 0, 1, 16},
		{"volume claim", volume, 0, 0, 1, noLimit},
		{"emptyDir", scratch, 0, 0, 1, 16},
		{"resource claim", claim, 0, 0, noLimit, noLimit},
		{"device of a class", device, 0, 0, noLimit, noLimit},
		{"most", plain, TopKMax, 0, TopKMax, TopKMax},
		{"most with anti-affinity", antiAffinity, TopKMax, 0, TopKMax, noLimit},
	} {
		if got := width(c.pod, c.topK, c.rejected, everything); got != c.decided {
			t.Errorf("%s, all decided: %d, want %d", c.name, got, c.decided)
		}
		if got := width(c.pod, c.topK, c.rejected, nil); got != c.bare {
			t.Errorf("%s, nothing decided: %d, want %d", c.name, got, c.bare)
		}
	}
	// Each kind alone.
	for what, pod := range map[wire.NotConsidered]*v1.Pod{
		wire.NotConsideredRequiredPodAntiAffinity: antiAffinity, wire.NotConsideredHardTopologySpread: spread,
		wire.NotConsideredSoftTopologySpread: softSpread, wire.NotConsideredRequiredPodAffinity: affinity,
		wire.NotConsideredPreferredPodAffinity: preferred, wire.NotConsideredPersistentVolumeClaims: volume,
		wire.NotConsideredPreferNoScheduleTaints: plain,
	} {
		others := slices.DeleteFunc(slices.Clone(everything), func(its wire.NotConsidered) bool { return its == what })
		if got := width(pod, 0, 0, others); got == 1 {
			t.Errorf("all decided but %s: one name", what)
		}
	}
}

// The framework offers a group's pod some of the nodes: the best of all may not be among them.
func TestPodsOfAGroupSeeAllNodes(t *testing.T) {
	h := &Headroom{args: HeadroomArgs{TopK: 3}}
	alone, grouped := newFakeState(), newFakeState()
	grouped.ofGroup = true
	if got := h.names(alone, pod("p", "1"), 0, nil); got != 3 {
		t.Errorf("alone: %d", got)
	}
	if got := h.names(grouped, pod("p", "1"), 0, nil); got != noLimit {
		t.Errorf("of a group: %d", got)
	}
}
