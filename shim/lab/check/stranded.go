package check

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Stranded tells the pods that wait although some node takes them, as the cluster is: nothing would break
// a rule that does not break one now. For clusters of which nothing changes any more; pods with scheduling
// gates are passed over. Every waiting pod is tried on every node: for small clusters.
func Stranded(cluster Cluster) []Violation {
	var found []Violation
	cluster.Rules.Created = nil
	now := len(Check(cluster))
	for i := range cluster.Pods {
		pod := &cluster.Pods[i]
		if pod.Spec.NodeName != "" || over(pod) || len(pod.Spec.SchedulingGates) > 0 {
			continue
		}
		for j := range cluster.Nodes {
			with := cluster
			with.Pods = slices.Clone(cluster.Pods)
			with.Pods[i].Spec.NodeName = cluster.Nodes[j].Name
			// A condition that tells why it has no node does not matter now.
			if len(Check(with)) <= now {
				found = append(found, Violation{"stranded", podName(pod), "node " + cluster.Nodes[j].Name +
					" takes it; the scheduler says: " + told(pod)})
				break
			}
		}
	}
	return found
}

func told(pod *v1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled {
			return condition.Message
		}
	}
	return "nothing"
}
