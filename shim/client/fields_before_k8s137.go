//go:build k8s135 || k8s136

package client

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func hasBindMountOptions([]v1.VolumeMount) bool { return false }

func preventPodSchedulingIfMissing(*storagev1.CSIDriverSpec) *bool { return nil }
