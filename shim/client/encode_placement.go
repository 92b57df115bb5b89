package client

import (
	"maps"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/wire"
)

// What a pod says of where it may run and beside whom.

func (e *encoder) nodeSelectorTerm(term *v1.NodeSelectorTerm) flatbuffers.UOffsetT {
	expressions := e.nodeRequirements(term.MatchExpressions)
	fields := e.nodeRequirements(term.MatchFields)
	wire.NodeSelectorTermStart(e.b)
	wire.NodeSelectorTermAddMatchExpressions(e.b, expressions)
	wire.NodeSelectorTermAddMatchFields(e.b, fields)
	return wire.NodeSelectorTermEnd(e.b)
}

// requiredNodeAffinity is absent where there is none, which is not the same as one without terms.
func (e *encoder) requiredNodeAffinity(affinity *v1.NodeAffinity) flatbuffers.UOffsetT {
	if affinity == nil || affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return 0
	}
	selector := affinity.RequiredDuringSchedulingIgnoredDuringExecution
	mark := e.mark()
	for i := range selector.NodeSelectorTerms {
		e.push(e.nodeSelectorTerm(&selector.NodeSelectorTerms[i]))
	}
	terms := e.vector(mark)
	wire.NodeSelectorStart(e.b)
	wire.NodeSelectorAddTerms(e.b, terms)
	return wire.NodeSelectorEnd(e.b)
}

func (e *encoder) preferredNodeAffinity(affinity *v1.NodeAffinity) flatbuffers.UOffsetT {
	if affinity == nil || len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		preference := e.nodeSelectorTerm(&term.Preference)
		wire.PreferredSchedulingTermStart(e.b)
		wire.PreferredSchedulingTermAddWeight(e.b, term.Weight)
		wire.PreferredSchedulingTermAddPreference(e.b, preference)
		e.push(wire.PreferredSchedulingTermEnd(e.b))
	}
	return e.vector(mark)
}

func (e *encoder) podAffinity(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) flatbuffers.UOffsetT {
	if len(required)+len(preferred) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range required {
		e.push(e.podAffinityTerm(&required[i], 0))
	}
	all := e.vector(mark)
	for i := range preferred {
		e.push(e.podAffinityTerm(&preferred[i].PodAffinityTerm, preferred[i].Weight))
	}
	wished := e.vector(mark)
	wire.PodAffinityStart(e.b)
	wire.PodAffinityAddRequired(e.b, all)
	wire.PodAffinityAddPreferred(e.b, wished)
	return wire.PodAffinityEnd(e.b)
}

func (e *encoder) podAffinityTerm(term *v1.PodAffinityTerm, weight int32) flatbuffers.UOffsetT {
	selector := e.optionalSelector(term.LabelSelector)
	namespaces := e.strings(term.Namespaces)
	namespaceSelector := e.optionalSelector(term.NamespaceSelector)
	key := e.optional(term.TopologyKey)
	wire.PodAffinityTermStart(e.b)
	wire.PodAffinityTermAddSelector(e.b, selector)
	wire.PodAffinityTermAddNamespaces(e.b, namespaces)
	wire.PodAffinityTermAddNamespaceSelector(e.b, namespaceSelector)
	wire.PodAffinityTermAddTopologyKey(e.b, key)
	wire.PodAffinityTermAddWeight(e.b, weight)
	return wire.PodAffinityTermEnd(e.b)
}

// optionalSelector is absent where there is none, which is not the same as one without requirements.
func (e *encoder) optionalSelector(selector *metav1.LabelSelector) flatbuffers.UOffsetT {
	if selector == nil {
		return 0
	}
	requirements := e.labelSelector(selector)
	wire.LabelSelectorStart(e.b)
	wire.LabelSelectorAddRequirements(e.b, requirements)
	return wire.LabelSelectorEnd(e.b)
}

// labelSelector is a list of requirements, the same one for the same selector: pods that are alike have to
// look alike.
func (e *encoder) labelSelector(selector *metav1.LabelSelector) flatbuffers.UOffsetT {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range selector.MatchExpressions {
		expression := &selector.MatchExpressions[i]
		e.push(e.requirement(expression.Key, string(expression.Operator), expression.Values))
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		e.push(e.requirement(key, string(metav1.LabelSelectorOpIn), []string{selector.MatchLabels[key]}))
	}
	return e.vector(mark)
}

func (e *encoder) topologySpread(list []v1.TopologySpreadConstraint) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range list {
		constraint := &list[i]
		key := e.optional(constraint.TopologyKey)
		selector := e.optionalSelector(constraint.LabelSelector)
		labelKeys := e.strings(constraint.MatchLabelKeys)
		domains := int32(1)
		if constraint.MinDomains != nil {
			domains = *constraint.MinDomains
		}
		wire.TopologySpreadConstraintStart(e.b)
		wire.TopologySpreadConstraintAddMaxSkew(e.b, constraint.MaxSkew)
		wire.TopologySpreadConstraintAddTopologyKey(e.b, key)
		wire.TopologySpreadConstraintAddHard(e.b, constraint.WhenUnsatisfiable == v1.DoNotSchedule)
		wire.TopologySpreadConstraintAddSelector(e.b, selector)
		wire.TopologySpreadConstraintAddMatchLabelKeys(e.b, labelKeys)
		wire.TopologySpreadConstraintAddMinDomains(e.b, domains)
		wire.TopologySpreadConstraintAddHonorsAffinity(e.b, honors(constraint.NodeAffinityPolicy, true))
		wire.TopologySpreadConstraintAddHonorsTaints(e.b, honors(constraint.NodeTaintsPolicy, false))
		e.push(wire.TopologySpreadConstraintEnd(e.b))
	}
	return e.vector(mark)
}

func honors(policy *v1.NodeInclusionPolicy, otherwise bool) bool {
	if policy == nil {
		return otherwise
	}
	return *policy == v1.NodeInclusionPolicyHonor
}

func (e *encoder) schedulingGates(gates []v1.PodSchedulingGate) flatbuffers.UOffsetT {
	if len(gates) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range gates {
		e.push(e.string(gates[i].Name))
	}
	return e.vector(mark)
}

// controller is absent where none of the owners is one.
func (e *encoder) controller(pod *v1.Pod) flatbuffers.UOffsetT {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return 0
	}
	version := e.optional(owner.APIVersion)
	kind := e.optional(owner.Kind)
	name := e.optional(owner.Name)
	uid := e.optional(string(owner.UID))
	wire.OwnerReferenceStart(e.b)
	wire.OwnerReferenceAddApiVersion(e.b, version)
	wire.OwnerReferenceAddKind(e.b, kind)
	wire.OwnerReferenceAddName(e.b, name)
	wire.OwnerReferenceAddUid(e.b, uid)
	return wire.OwnerReferenceEnd(e.b)
}
