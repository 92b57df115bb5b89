package integration

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// scenario is a cluster, the pods that come to it, and what of their places is compared. Both schedulers get
// the same, in the same order, in a namespace of their own.
type scenario struct {
	name    string
	nodes   []*v1.Node
	objects func(namespace string) []metav1.Object
	running func(namespace string) []*v1.Pod // bound already
	quota   *lab.ElasticQuota                // of the namespace
	pods    func(namespace string) []*v1.Pod // one after the other
	midway  func(*stage)                     // when half of them were created
	later   func(*stage)                     // when all were
	pending int                              // so many of the pods have no place
	// The numbers of the pods in the domains of this key are compared; "": they are not.
	skewBy string
	// Whether what the pod prefers is so; nil: it prefers nothing.
	prefers func(placement) bool
	// What the quota's scenario has to come to, as kube-scheduler knows no quotas; nil: what stock does.
	want *outcome
}

// placement of one of the scenario's pods.
type placement struct {
	pod    *v1.Pod
	node   *v1.Node
	beside []*v1.Pod // the other pods of the node
}
