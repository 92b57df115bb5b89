package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// inMemory is an API server for one informer: a list that never changes.
type inMemory struct{ list runtime.Object }

func (m inMemory) List(metav1.ListOptions) (runtime.Object, error) { return m.list, nil }

func (m inMemory) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported has the reflector list and then watch.
func (m inMemory) IsWatchListSemanticsUnSupported() bool { return true }

// newInformers have the nodes and pods in memory; of all other kinds there is nothing. (The fake
// clientset's own store takes minutes for 50,000 nodes.)
func newInformers(nodes []*v1.Node, pods []*v1.Pod) (kubernetes.Interface, informers.SharedInformerFactory) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	version := metav1.ListMeta{ResourceVersion: "1"}
	nodeList := &v1.NodeList{ListMeta: version}
	for _, node := range nodes {
		nodeList.Items = append(nodeList.Items, *node)
	}
	podList := &v1.PodList{ListMeta: version}
	for _, pod := range pods {
		podList.Items = append(podList.Items, *pod)
	}
	for _, kind := range []struct {
		object runtime.Object
		list   runtime.Object
	}{{&v1.Node{}, nodeList}, {&v1.Pod{}, podList}} {
		factory.InformerFor(kind.object, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(inMemory{kind.list}, kind.object, 0,
				cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		})
	}
	return client, factory
}

// storeOf holds the objects by their keys, as an informer does.
func storeOf[T any](objects []T) cache.Store {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, object := range objects {
		// The only error is an object without metadata.
		_ = store.Add(object)
	}
	return store
}
