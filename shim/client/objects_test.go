package client

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// mapStore is a Store.
type mapStore struct {
	mu      sync.Mutex
	objects map[string]any
}

func newStore(objects ...metav1.Object) *mapStore {
	s := &mapStore{objects: map[string]any{}}
	for _, object := range objects {
		s.put(object)
	}
	return s
}

func keyOf(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

func (s *mapStore) put(object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[keyOf(object)] = object
}

func (s *mapStore) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

func (s *mapStore) GetByKey(key string) (any, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, ok := s.objects[key]
	return object, ok, nil
}

func (s *mapStore) List() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]any, 0, len(s.objects))
	for _, object := range s.objects {
		list = append(list, object)
	}
	return list
}

func testNode(name, cpu string) *v1.Node {
	resources := v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse(cpu),
		v1.ResourceMemory: resource.MustParse("64Gi"),
		v1.ResourcePods:   resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status:     v1.NodeStatus{Allocatable: resources, Capacity: resources},
	}
}

func testPod(name, cpu, node string) *v1.Pod {
	resources := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("1Gi")}
	priority := int32(0)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team-a", UID: types.UID("uid-" + name),
			Labels:            map[string]string{"app": "web"},
			CreationTimestamp: metav1.Unix(1_800_000_000, 0),
		},
		Spec: v1.PodSpec{
			NodeName: node,
			Priority: &priority,
			Containers: []v1.Container{{
				Name:      "main",
				Resources: v1.ResourceRequirements{Requests: resources, Limits: resources},
			}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSGuaranteed},
	}
}

// readCluster reads what kubectl printed into stores by kind; newest is the time of the newest metric, else
// of the newest pod, as `headroom load` gives it to the server.
func readCluster(t testing.TB, path string) (stores [kindCount]*mapStore, newest int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("no %s", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for kind := range stores {
		stores[kind] = newStore()
	}
	newestPod := int64(0)
	for _, item := range list.Items {
		var kind metav1.TypeMeta
		if err := json.Unmarshal(item, &kind); err != nil {
			t.Fatal(err)
		}
		read := func(object metav1.Object) {
			if err := json.Unmarshal(item, object); err != nil {
				t.Fatalf("%s: %s", kind.Kind, err)
			}
		}
		custom := func() *unstructured.Unstructured {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(item); err != nil {
				t.Fatalf("%s: %s", kind.Kind, err)
			}
			return object
		}
		switch kind.Kind {
		case "Node":
			object := &v1.Node{}
			read(object)
			stores[Nodes].put(object)
		case "Pod":
			object := &v1.Pod{}
			read(object)
			stores[Pods].put(object)
			newestPod = max(newestPod, object.CreationTimestamp.UnixMicro())
		case "PodDisruptionBudget":
			object := &policyv1.PodDisruptionBudget{}
			read(object)
			stores[PodDisruptionBudgets].put(object)
		case "PriorityClass":
			object := &schedulingv1.PriorityClass{}
			read(object)
			stores[PriorityClasses].put(object)
		case "NodeMetric":
			object := custom()
			stores[NodeMetrics].put(object)
			text, _, _ := unstructured.NestedString(object.Object, "status", "updateTime")
			if updated, err := time.Parse(time.RFC3339, text); err == nil {
				newest = max(newest, updated.UnixMicro())
			}
		case "ElasticQuota":
			stores[ElasticQuotas].put(custom())
		case "CapacityQuota":
			stores[CapacityQuotas].put(custom())
		default:
			of := slices.Index(referredKinds[:], kind.Kind)
			if of < 0 {
				t.Fatalf("an object of kind %q", kind.Kind)
			}
			object := newReferred(firstReferred + Kind(of))
			read(object)
			stores[firstReferred+Kind(of)].put(object)
		}
	}
	if newest == 0 {
		newest = newestPod
	}
	return stores, newest
}

// newReferred is an empty object of a kind that nodes and pods refer to.
func newReferred(kind Kind) metav1.Object {
	switch kind {
	case Namespaces:
		return &v1.Namespace{}
	case Services:
		return &v1.Service{}
	case ReplicationControllers:
		return &v1.ReplicationController{}
	case ReplicaSets:
		return &appsv1.ReplicaSet{}
	case StatefulSets:
		return &appsv1.StatefulSet{}
	case PersistentVolumes:
		return &v1.PersistentVolume{}
	case PersistentVolumeClaims:
		return &v1.PersistentVolumeClaim{}
	case StorageClasses:
		return &storagev1.StorageClass{}
	case CSINodes:
		return &storagev1.CSINode{}
	case CSIDrivers:
		return &storagev1.CSIDriver{}
	}
	return &storagev1.CSIStorageCapacity{}
}

// manyPods are n pods, on the nodes in turn.
func manyPods(n, nodes int) []metav1.Object {
	pods := make([]metav1.Object, n)
	for i := range pods {
		pods[i] = testPod(fmt.Sprintf("pod-%d", i), "100m", fmt.Sprintf("node-%d", i%nodes))
	}
	return pods
}

func manyNodes(n int) []metav1.Object {
	nodes := make([]metav1.Object, n)
	for i := range nodes {
		nodes[i] = testNode(fmt.Sprintf("node-%d", i), "32")
	}
	return nodes
}
