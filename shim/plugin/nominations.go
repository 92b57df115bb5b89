package plugin

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// nominations are what PostFilter said and the API server does not show yet: kube-scheduler writes
// status.nominatedNodeName after the cycle, and the pods that come next must not get the room that the
// victims leave. Facts about pods are read through it. Safe for concurrent use.
type nominations struct {
	cache.Store // of the pods as the API server has them

	mu    sync.Mutex
	nodes map[types.UID]string // "": the pod has lost its nomination
}

func newNominations(pods cache.Store) *nominations {
	return &nominations{Store: pods, nodes: map[types.UID]string{}}
}

// set: from now on the pod is nominated to the node, or to none. False: so it was.
func (n *nominations) set(pod *v1.Pod, node string) bool {
	object, exists, err := n.GetByKey(keyOf(pod))
	if err != nil || !exists {
		return false
	}
	if said, ok := object.(*v1.Pod); !ok || said.UID != pod.UID || said.Status.NominatedNodeName == node {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[pod.UID] = node
	return true
}

// shown: the API server has the pod so.
func (n *nominations) shown(pod *v1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if node, set := n.nodes[pod.UID]; set && (pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == node) {
		delete(n.nodes, pod.UID)
	}
}

// drop takes our word back. False: there was none.
func (n *nominations) drop(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, set := n.nodes[uid]
	delete(n.nodes, uid)
	return set
}

// of is the object, a pod, with our word.
func (n *nominations) of(object any) any {
	pod, ok := object.(*v1.Pod)
	if !ok || pod.Spec.NodeName != "" {
		return object
	}
	n.mu.Lock()
	node, set := n.nodes[pod.UID]
	n.mu.Unlock()
	if !set {
		return object
	}
	said := *pod // objects of an informer are shared: only what changes is our own
	said.Status.NominatedNodeName = node
	return &said
}

func (n *nominations) GetByKey(key string) (any, bool, error) {
	object, exists, err := n.Store.GetByKey(key)
	return n.of(object), exists, err
}

func (n *nominations) List() []any {
	objects := n.Store.List()
	for i := range objects {
		objects[i] = n.of(objects[i])
	}
	return objects
}
