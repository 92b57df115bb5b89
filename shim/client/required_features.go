package client

import v1 "k8s.io/api/core/v1"

// requiredFeatures are those that a node must declare to run the pod, sorted: what scheduling asks for in
// k8s.io/component-helpers/nodedeclaredfeatures. As objects/reading/pod_json.cpp finds them.
func requiredFeatures(spec *v1.PodSpec) []string {
	restartsAll, bindOptions := false, false
	look := func(container *v1.Container) {
		for i := range container.RestartPolicyRules {
			restartsAll = restartsAll || container.RestartPolicyRules[i].Action == "RestartAllContainers"
		}
		bindOptions = bindOptions || hasBindMountOptions(container.VolumeMounts)
	}
	for i := range spec.InitContainers {
		look(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		look(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		bindOptions = bindOptions || hasBindMountOptions(spec.EphemeralContainers[i].VolumeMounts)
	}
	var features []string
	if restartsAll {
		features = append(features, "RestartAllContainersOnContainerExits")
	}
	if spec.HostNetwork && spec.HostUsers != nil && !*spec.HostUsers {
		features = append(features, "UserNamespacesHostNetworkSupport")
	}
	if bindOptions {
		features = append(features, "VolumeBindMountOptions")
	}
	return features
}
