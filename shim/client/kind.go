package client

// Kind is what a fact is about.
type Kind uint8

// The kinds, in no order that means anything.
const (
	Nodes Kind = iota
	Pods
	NodeMetrics
	ElasticQuotas
	PodDisruptionBudgets
	PriorityClasses
	CapacityQuotas
	kindCount
)

var kindNames = [kindCount]string{
	"Nodes", "Pods", "NodeMetrics", "ElasticQuotas", "PodDisruptionBudgets", "PriorityClasses", "CapacityQuotas",
}

func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return "unknown kind"
}

// Store is what the feeder reads of an informer's cache.Store: objects by key, "name" or "namespace/name".
// Objects are *v1.Node, *v1.Pod, *policyv1.PodDisruptionBudget, *schedulingv1.PriorityClass, and
// *unstructured.Unstructured for NodeMetric (slo.koordinator.sh/v1alpha1), ElasticQuota
// (scheduling.x-k8s.io/v1alpha1) and CapacityQuota (autoscaling.x-k8s.io/v1beta1). They are only read.
type Store interface {
	GetByKey(key string) (item any, exists bool, err error)
	List() []any
}
