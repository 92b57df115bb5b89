//go:build !k8s135 && !k8s136

package client

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Fields that Kubernetes' types have from 1.37 on.

func hasBindMountOptions(mounts []v1.VolumeMount) bool {
	for i := range mounts {
		if len(mounts[i].BindMountOptions) > 0 {
			return true
		}
	}
	return false
}

func preventPodSchedulingIfMissing(spec *storagev1.CSIDriverSpec) *bool {
	return spec.PreventPodSchedulingIfMissing
}
