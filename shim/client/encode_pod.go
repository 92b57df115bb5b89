package client

import (
	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/wire"
)

// podAnnotations are those of objects/annotations.h that pods have.
var podAnnotations = []string{
	"scheduling.koordinator.sh/load-estimated-seconds-after-initialized",
	"scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled",
	"scheduling.koordinator.sh/load-estimated-scaling-factors",
	"scheduling.koordinator.sh/reserve-pod",
}

func (e *encoder) pod(pod *v1.Pod) flatbuffers.UOffsetT {
	namespace := e.string(pod.Namespace)
	name := e.string(pod.Name)
	uid := e.string(string(pod.UID))
	labels := e.stringMap(pod.Labels)
	annotations := e.annotations(pod.Annotations, podAnnotations)
	nodeName := e.optional(pod.Spec.NodeName)
	containers := e.containers(pod.Spec.Containers, pod.Status.ContainerStatuses, false)
	initContainers := e.containers(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true)
	var requests, limits flatbuffers.UOffsetT
	if resources := pod.Spec.Resources; resources != nil {
		requests = e.resources(resources.Requests)
		limits = e.resources(resources.Limits)
	}
	overhead := e.resources(pod.Spec.Overhead)
	nodeSelector := e.stringMap(pod.Spec.NodeSelector)
	var affinity, preferred, with, apart flatbuffers.UOffsetT
	if its := pod.Spec.Affinity; its != nil {
		affinity = e.requiredNodeAffinity(its.NodeAffinity)
		preferred = e.preferredNodeAffinity(its.NodeAffinity)
		if its.PodAffinity != nil {
			with = e.podAffinity(its.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
				its.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if its.PodAntiAffinity != nil {
			apart = e.podAffinity(its.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
				its.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	tolerations := e.tolerations(pod.Spec.Tolerations)
	phase := e.optional(string(pod.Status.Phase))
	qosClass := e.optional(string(pod.Status.QOSClass))
	var scheduled, initialized flatbuffers.UOffsetT
	if condition := firstCondition(pod, v1.PodScheduled); condition != nil {
		scheduled = e.condition(condition)
	}
	if condition := firstCondition(pod, v1.PodInitialized); condition != nil {
		initialized = e.condition(condition)
	}
	resize := firstCondition(pod, v1.PodResizePending)
	nominated := e.optional(pod.Status.NominatedNodeName)
	priorityClass := e.optional(pod.Spec.PriorityClassName)
	var preemption flatbuffers.UOffsetT
	if pod.Spec.PreemptionPolicy != nil {
		preemption = e.optional(string(*pod.Spec.PreemptionPolicy))
	}
	schedulerName := e.optional(pod.Spec.SchedulerName)
	notConsidered := e.notConsidered(notConsideredOf(pod))
	spread := e.topologySpread(pod.Spec.TopologySpreadConstraints)
	volumes := e.volumes(pod.Spec.Volumes)
	gates := e.schedulingGates(pod.Spec.SchedulingGates)
	features := e.strings(requiredFeatures(&pod.Spec))
	controller := e.controller(pod)
	actuated, allocated := e.reported(pod.Status.Resources, pod.Status.AllocatedResources)

	wire.PodStart(e.b)
	wire.PodAddNamespaceName(e.b, namespace)
	wire.PodAddName(e.b, name)
	wire.PodAddUid(e.b, uid)
	wire.PodAddLabels(e.b, labels)
	wire.PodAddAnnotations(e.b, annotations)
	wire.PodAddDaemonSet(e.b, ofDaemonSet(pod))
	wire.PodAddCreationUs(e.b, microseconds(pod.CreationTimestamp))
	wire.PodAddNodeName(e.b, nodeName)
	wire.PodAddContainers(e.b, containers)
	wire.PodAddInitContainers(e.b, initContainers)
	wire.PodAddPodRequests(e.b, requests)
	wire.PodAddPodLimits(e.b, limits)
	wire.PodAddOverhead(e.b, overhead)
	if pod.Spec.Priority != nil {
		wire.PodAddHasPriority(e.b, true)
		wire.PodAddPriority(e.b, *pod.Spec.Priority)
	}
	wire.PodAddNodeSelector(e.b, nodeSelector)
	wire.PodAddRequiredNodeAffinity(e.b, affinity)
	wire.PodAddTolerations(e.b, tolerations)
	if pod.Spec.ActiveDeadlineSeconds != nil {
		wire.PodAddActiveDeadlineSeconds(e.b, *pod.Spec.ActiveDeadlineSeconds)
	}
	wire.PodAddPhase(e.b, phase)
	wire.PodAddQosClass(e.b, qosClass)
	wire.PodAddScheduled(e.b, scheduled)
	wire.PodAddInitialized(e.b, initialized)
	// As IsPodResizeInfeasible: whatever the condition's status.
	wire.PodAddResizeInfeasible(e.b, resize != nil && resize.Reason == v1.PodReasonInfeasible)
	if pod.Status.StartTime != nil {
		wire.PodAddStartUs(e.b, microseconds(*pod.Status.StartTime))
	}
	wire.PodAddNominatedNodeName(e.b, nominated)
	wire.PodAddDeleting(e.b, pod.DeletionTimestamp != nil)
	wire.PodAddPriorityClassName(e.b, priorityClass)
	wire.PodAddPreemptionPolicy(e.b, preemption)
	wire.PodAddSchedulerName(e.b, schedulerName)
	wire.PodAddNotConsidered(e.b, notConsidered)
	wire.PodAddPreferredNodeAffinity(e.b, preferred)
	wire.PodAddPodAffinity(e.b, with)
	wire.PodAddPodAntiAffinity(e.b, apart)
	wire.PodAddTopologySpread(e.b, spread)
	wire.PodAddVolumes(e.b, volumes)
	wire.PodAddSchedulingGates(e.b, gates)
	wire.PodAddRequiredFeatures(e.b, features)
	wire.PodAddController(e.b, controller)
	wire.PodAddActuatedRequests(e.b, actuated)
	wire.PodAddAllocatedRequests(e.b, allocated)
	return wire.PodEnd(e.b)
}

// podRef names a pod by what it is: it may not have been fed yet.
func (e *encoder) podRef(pod *v1.Pod) flatbuffers.UOffsetT {
	whole := e.pod(pod)
	wire.PodRefStart(e.b)
	wire.PodRefAddPod(e.b, whole)
	return wire.PodRefEnd(e.b)
}

func (e *encoder) podRefs(pods []*v1.Pod) flatbuffers.UOffsetT {
	mark := e.mark()
	for _, pod := range pods {
		e.push(e.podRef(pod))
	}
	return e.vector(mark)
}

func (e *encoder) containers(list []v1.Container, statuses []v1.ContainerStatus, init bool) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range list {
		e.push(e.container(&list[i], statusOf(statuses, list[i].Name), init))
	}
	return e.vector(mark)
}

// container: status may be nil.
func (e *encoder) container(container *v1.Container, status *v1.ContainerStatus, init bool) flatbuffers.UOffsetT {
	name := e.optional(container.Name)
	requests := e.resources(container.Resources.Requests)
	limits := e.resources(container.Resources.Limits)
	var actuated, allocated flatbuffers.UOffsetT
	if status != nil {
		actuated, allocated = e.reported(status.Resources, status.AllocatedResources)
	}
	ports := e.hostPorts(container.Ports)
	image := e.optional(container.Image)
	wire.ContainerStart(e.b)
	wire.ContainerAddName(e.b, name)
	wire.ContainerAddRequests(e.b, requests)
	wire.ContainerAddLimits(e.b, limits)
	wire.ContainerAddRestartAlways(e.b, init && container.RestartPolicy != nil &&
		*container.RestartPolicy == v1.ContainerRestartPolicyAlways)
	wire.ContainerAddActuatedRequests(e.b, actuated)
	wire.ContainerAddAllocatedRequests(e.b, allocated)
	wire.ContainerAddPorts(e.b, ports)
	wire.ContainerAddImage(e.b, image)
	return wire.ContainerEnd(e.b)
}

// reported is what a status says of resources: reported and empty differs from not reported.
func (e *encoder) reported(resources *v1.ResourceRequirements, allocations v1.ResourceList) (actuated, allocated flatbuffers.UOffsetT) {
	if resources != nil {
		actuated = e.presentResources(resources.Requests)
	}
	return actuated, e.resources(allocations)
}

// hostPorts are the ports that take one of the node's; absent where there are none.
func (e *encoder) hostPorts(ports []v1.ContainerPort) flatbuffers.UOffsetT {
	mark := e.mark()
	for i := range ports {
		port := &ports[i]
		if port.HostPort <= 0 {
			continue
		}
		var protocol flatbuffers.UOffsetT
		if port.Protocol != v1.ProtocolTCP {
			protocol = e.optional(string(port.Protocol))
		}
		address := e.optional(port.HostIP)
		wire.ContainerPortStart(e.b)
		wire.ContainerPortAddHostPort(e.b, port.HostPort)
		wire.ContainerPortAddProtocol(e.b, protocol)
		wire.ContainerPortAddHostIp(e.b, address)
		e.push(wire.ContainerPortEnd(e.b))
	}
	if e.mark() == mark {
		return 0
	}
	return e.vector(mark)
}

func (e *encoder) condition(condition *v1.PodCondition) flatbuffers.UOffsetT {
	wire.PodConditionStart(e.b)
	wire.PodConditionAddIsTrue(e.b, condition.Status == v1.ConditionTrue)
	wire.PodConditionAddLastTransitionUs(e.b, microseconds(condition.LastTransitionTime))
	return wire.PodConditionEnd(e.b)
}

func (e *encoder) nodeRequirements(list []v1.NodeSelectorRequirement) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range list {
		e.push(e.requirement(list[i].Key, string(list[i].Operator), list[i].Values))
	}
	return e.vector(mark)
}

func (e *encoder) requirement(key, op string, values []string) flatbuffers.UOffsetT {
	k := e.optional(key)
	o := e.optional(op)
	v := e.strings(values)
	wire.NodeSelectorRequirementStart(e.b)
	wire.NodeSelectorRequirementAddKey(e.b, k)
	wire.NodeSelectorRequirementAddOp(e.b, o)
	wire.NodeSelectorRequirementAddValues(e.b, v)
	return wire.NodeSelectorRequirementEnd(e.b)
}

func (e *encoder) tolerations(list []v1.Toleration) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for i := range list {
		key := e.optional(list[i].Key)
		op := e.optional(string(list[i].Operator))
		value := e.optional(list[i].Value)
		effect := e.optional(string(list[i].Effect))
		wire.TolerationStart(e.b)
		wire.TolerationAddKey(e.b, key)
		wire.TolerationAddOp(e.b, op)
		wire.TolerationAddValue(e.b, value)
		wire.TolerationAddEffect(e.b, effect)
		e.push(wire.TolerationEnd(e.b))
	}
	return e.vector(mark)
}

func ofDaemonSet(pod *v1.Pod) bool {
	for i := range pod.OwnerReferences {
		if pod.OwnerReferences[i].Kind == "DaemonSet" {
			return true
		}
	}
	return false
}

// firstCondition: of several of a type Kubernetes reads the first.
func firstCondition(pod *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func statusOf(statuses []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

// microseconds since the Unix epoch; 0: none.
func microseconds(time metav1.Time) int64 {
	if time.IsZero() {
		return 0
	}
	return time.UnixMicro()
}
