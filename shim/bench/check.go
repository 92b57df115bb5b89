package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// checkRoom adds up, by plain arithmetic, what the pods ask of the nodes they are on.
func checkRoom(c *cluster, pods []*v1.Pod, bound map[string]string) error {
	type room struct{ milliCPU, memory, pods int64 }
	left := map[string]*room{}
	for _, node := range c.nodes {
		a := node.Status.Allocatable
		left[node.Name] = &room{a.Cpu().MilliValue(), a.Memory().Value(), a.Pods().Value()}
	}
	take := func(pod *v1.Pod, name string) error {
		node := left[name]
		if node == nil {
			return fmt.Errorf("pod %s is on node %q, which does not exist", pod.Name, name)
		}
		requests := pod.Spec.Containers[0].Resources.Requests
		node.milliCPU -= requests.Cpu().MilliValue()
		node.memory -= requests.Memory().Value()
		node.pods--
		if node.milliCPU < 0 || node.memory < 0 || node.pods < 0 {
			return fmt.Errorf("node %s has no room for pod %s", name, pod.Name)
		}
		return nil
	}
	for _, pod := range c.running {
		if err := take(pod, pod.Spec.NodeName); err != nil {
			return err
		}
	}
	for _, pod := range pods {
		if err := take(pod, bound[pod.Name]); err != nil {
			return err
		}
	}
	return nil
}
