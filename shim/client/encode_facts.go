package client

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/wire"
)

// upsert builds a Change with the whole object. Errors: the object is not of the kind, or has a field of
// another type than its schema says.
func (e *encoder) upsert(kind Kind, object any) (flatbuffers.UOffsetT, error) {
	switch kind {
	case Nodes:
		if node, ok := object.(*v1.Node); ok {
			return e.change(wire.FactNode, e.node(node)), nil
		}
	case Pods:
		if pod, ok := object.(*v1.Pod); ok {
			return e.change(wire.FactPod, e.pod(pod)), nil
		}
	case PodDisruptionBudgets:
		if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
			return e.change(wire.FactPodDisruptionBudget, e.podDisruptionBudget(budget)), nil
		}
	case PriorityClasses:
		if class, ok := object.(*schedulingv1.PriorityClass); ok {
			return e.change(wire.FactPriorityClass, e.priorityClass(class)), nil
		}
	case NodeMetrics:
		return upsertUnstructured(e, object, wire.FactNodeMetric, (*encoder).nodeMetric)
	case ElasticQuotas:
		return upsertUnstructured(e, object, wire.FactElasticQuota, (*encoder).elasticQuota)
	case CapacityQuotas:
		return upsertUnstructured(e, object, wire.FactCapacityQuota, (*encoder).capacityQuota)
	default:
		return e.referredObject(kind, object)
	}
	return 0, fmt.Errorf("%s: an object of type %T", kind, object)
}

func upsertUnstructured(e *encoder, object any, fact wire.Fact,
	encode func(*encoder, *unstructured.Unstructured) (flatbuffers.UOffsetT, error)) (flatbuffers.UOffsetT, error) {
	custom, ok := object.(*unstructured.Unstructured)
	if !ok {
		return 0, fmt.Errorf("%s: an object of type %T", fact, object)
	}
	offset, err := encode(e, custom)
	if err != nil {
		return 0, err
	}
	return e.change(fact, offset), nil
}

// removed builds a Change that says that the object is gone.
func (e *encoder) removed(kind Kind, namespace, name string) flatbuffers.UOffsetT {
	if kind >= firstReferred {
		return e.removedReferredObject(kind, namespace, name)
	}
	n := e.string(name)
	switch kind {
	case Nodes:
		wire.RemovedNodeStart(e.b)
		wire.RemovedNodeAddName(e.b, n)
		return e.change(wire.FactRemovedNode, wire.RemovedNodeEnd(e.b))
	case NodeMetrics:
		wire.RemovedNodeMetricStart(e.b)
		wire.RemovedNodeMetricAddName(e.b, n)
		return e.change(wire.FactRemovedNodeMetric, wire.RemovedNodeMetricEnd(e.b))
	case PriorityClasses:
		wire.RemovedPriorityClassStart(e.b)
		wire.RemovedPriorityClassAddName(e.b, n)
		return e.change(wire.FactRemovedPriorityClass, wire.RemovedPriorityClassEnd(e.b))
	case CapacityQuotas:
		wire.RemovedCapacityQuotaStart(e.b)
		wire.RemovedCapacityQuotaAddName(e.b, n)
		return e.change(wire.FactRemovedCapacityQuota, wire.RemovedCapacityQuotaEnd(e.b))
	}
	in := e.string(namespace)
	switch kind {
	case ElasticQuotas:
		wire.RemovedElasticQuotaStart(e.b)
		wire.RemovedElasticQuotaAddNamespaceName(e.b, in)
		wire.RemovedElasticQuotaAddName(e.b, n)
		return e.change(wire.FactRemovedElasticQuota, wire.RemovedElasticQuotaEnd(e.b))
	case PodDisruptionBudgets:
		wire.RemovedPodDisruptionBudgetStart(e.b)
		wire.RemovedPodDisruptionBudgetAddNamespaceName(e.b, in)
		wire.RemovedPodDisruptionBudgetAddName(e.b, n)
		return e.change(wire.FactRemovedPodDisruptionBudget, wire.RemovedPodDisruptionBudgetEnd(e.b))
	default:
		wire.RemovedPodStart(e.b)
		wire.RemovedPodAddNamespaceName(e.b, in)
		wire.RemovedPodAddName(e.b, n)
		return e.change(wire.FactRemovedPod, wire.RemovedPodEnd(e.b))
	}
}

func (e *encoder) change(fact wire.Fact, body flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	wire.ChangeStart(e.b)
	wire.ChangeAddFactType(e.b, fact)
	wire.ChangeAddFact(e.b, body)
	return wire.ChangeEnd(e.b)
}

func (e *encoder) podDisruptionBudget(budget *policyv1.PodDisruptionBudget) flatbuffers.UOffsetT {
	namespace := e.string(budget.Namespace)
	name := e.string(budget.Name)
	// Absent and empty alike select no pod, as preemption has it.
	selector := e.labelSelector(budget.Spec.Selector)
	var disrupted flatbuffers.UOffsetT
	if len(budget.Status.DisruptedPods) > 0 {
		mark := e.mark()
		for pod := range budget.Status.DisruptedPods {
			e.push(e.string(pod))
		}
		disrupted = e.vector(mark)
	}
	wire.PodDisruptionBudgetStart(e.b)
	wire.PodDisruptionBudgetAddNamespaceName(e.b, namespace)
	wire.PodDisruptionBudgetAddName(e.b, name)
	wire.PodDisruptionBudgetAddSelector(e.b, selector)
	wire.PodDisruptionBudgetAddDisruptionsAllowed(e.b, int64(budget.Status.DisruptionsAllowed))
	wire.PodDisruptionBudgetAddDisruptedPods(e.b, disrupted)
	return wire.PodDisruptionBudgetEnd(e.b)
}

func (e *encoder) priorityClass(class *schedulingv1.PriorityClass) flatbuffers.UOffsetT {
	name := e.string(class.Name)
	var preemption flatbuffers.UOffsetT
	if class.PreemptionPolicy != nil {
		preemption = e.optional(string(*class.PreemptionPolicy))
	}
	wire.PriorityClassStart(e.b)
	wire.PriorityClassAddName(e.b, name)
	wire.PriorityClassAddValue(e.b, class.Value)
	wire.PriorityClassAddGlobalDefault(e.b, class.GlobalDefault)
	wire.PriorityClassAddPreemptionPolicy(e.b, preemption)
	return wire.PriorityClassEnd(e.b)
}
