package plugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
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
	claim := &v1.Pod{Spec: v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "gpu"}}}}
	for _, c := range []struct {
		name           string
		pod            *v1.Pod
		topK, rejected int
		want           int
	}{
		{"plain", plain, 16, 0, 16},
		{"one", plain, 1, 0, 1},
		{"rejected once", plain, 16, 1, 96},
		{"rejected twice", plain, 16, 2, 576},
		{"rejected three times", plain, 16, 3, noLimit},
		{"rejected often", plain, 16, 1 << 30, noLimit},
		{"anti-affinity", antiAffinity, 16, 0, 96},
		{"anti-affinity, rejected", antiAffinity, 16, 1, 576},
		{"hard spread", spread, 16, 0, 96},
		{"soft spread", softSpread, 16, 0, 16},
		{"affinity", affinity, 16, 0, noLimit},
		{"preferred affinity", preferred, 16, 0, 16},
		{"volume claim", volume, 16, 0, noLimit},
		{"emptyDir", scratch, 16, 0, 16},
		{"resource claim", claim, 16, 0, noLimit},
		{"most", plain, TopKMax, 0, TopKMax},
		{"most with anti-affinity", antiAffinity, TopKMax, 0, noLimit},
	} {
		if got := width(c.pod, c.topK, c.rejected); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
