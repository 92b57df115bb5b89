package lab

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodOption changes a pod before it is created.
type PodOption func(*v1.Pod)

// Pod of one container that asks for nothing. It is gone as soon as it is deleted.
func Pod(namespace, name string, options ...PodOption) *v1.Pod {
	var grace int64
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{Name: "main", Image: "none", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}},
		},
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// Request of the first container: "cpu", "1".
func Request(name, quantity string) PodOption {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Resources.Requests[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
}

// Limit of the first container.
func Limit(name, quantity string) PodOption {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Resources.Limits[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
}

// PodLabel adds a label.
func PodLabel(key, value string) PodOption {
	return func(p *v1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) }
}

// Select adds to the node selector.
func Select(key, value string) PodOption {
	return func(p *v1.Pod) {
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[key] = value
	}
}

// SelectZone selects a zone.
func SelectZone(zone string) PodOption { return Select(labelZone, zone) }

// OnNode binds the pod by hand.
func OnNode(name string) PodOption { return func(p *v1.Pod) { p.Spec.NodeName = name } }

// Priority as a number. The admission plugin sets spec.priority from a class, so the lab makes one:
// see ControlPlane.CreatePods.
func Priority(value int32) PodOption {
	return func(p *v1.Pod) { p.Spec.PriorityClassName = priorityClassName(value) }
}

// NonPreempting is Priority with preemptionPolicy Never.
func NonPreempting(value int32) PodOption {
	return func(p *v1.Pod) { p.Spec.PriorityClassName = priorityClassName(value) + neverSuffix }
}

// OwnedBy a controller, as "DaemonSet".
func OwnedBy(kind, name string) PodOption {
	return func(p *v1.Pod) {
		controller := true
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind,
			Name: name, UID: types.UID(kind + "-" + name), Controller: &controller})
	}
}

// Tolerate a taint, whatever its value.
func Tolerate(key string, effect v1.TaintEffect) PodOption {
	return func(p *v1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations,
			v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: effect})
	}
}

// HostPort of the first container, TCP.
func HostPort(port int32) PodOption {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports,
			v1.ContainerPort{ContainerPort: port, HostPort: port})
	}
}

// Gated pods wait until OpenGate.
func Gated(name string) PodOption {
	return func(p *v1.Pod) {
		p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: name})
	}
}

// ScheduledBy another profile than default-scheduler.
func ScheduledBy(name string) PodOption { return func(p *v1.Pod) { p.Spec.SchedulerName = name } }

// RequireNodeAffinity: one required term.
func RequireNodeAffinity(term v1.NodeSelectorTerm) PodOption {
	return func(p *v1.Pod) {
		nodeAffinity(p).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	}
}

// RequireNodeName: metadata.name by affinity, which kube-scheduler answers by PreFilterResult.
func RequireNodeName(name string) PodOption {
	return RequireNodeAffinity(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{
		Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{name}}}})
}

// ApartFrom pods with that label in the topology: required anti-affinity.
func ApartFrom(topologyKey, label, value string) PodOption {
	return func(p *v1.Pod) {
		required := &podAntiAffinity(p).RequiredDuringSchedulingIgnoredDuringExecution
		*required = append(*required, term(topologyKey, label, value))
	}
}

// BesidePods with that label in the topology: required affinity.
func BesidePods(topologyKey, label, value string) PodOption {
	return func(p *v1.Pod) {
		required := &podAffinity(p).RequiredDuringSchedulingIgnoredDuringExecution
		*required = append(*required, term(topologyKey, label, value))
	}
}

// Spread pods with that label: DoNotSchedule.
func Spread(topologyKey string, maxSkew int32, label, value string) PodOption {
	return spread(v1.DoNotSchedule, topologyKey, maxSkew, label, value)
}

// SpreadSoftly is Spread with ScheduleAnyway.
func SpreadSoftly(topologyKey string, maxSkew int32, label, value string) PodOption {
	return spread(v1.ScheduleAnyway, topologyKey, maxSkew, label, value)
}

func spread(unsatisfiable v1.UnsatisfiableConstraintAction, topologyKey string, maxSkew int32, label, value string) PodOption {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: maxSkew, TopologyKey: topologyKey, WhenUnsatisfiable: unsatisfiable,
			LabelSelector: selector(label, value)})
	}
}

// PreferNodeAffinity: one preferred term.
func PreferNodeAffinity(weight int32, term v1.NodeSelectorTerm) PodOption {
	return func(p *v1.Pod) {
		preferred := &nodeAffinity(p).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred, v1.PreferredSchedulingTerm{Weight: weight, Preference: term})
	}
}

// PreferApartFrom pods with that label in the topology: preferred anti-affinity.
func PreferApartFrom(weight int32, topologyKey, label, value string) PodOption {
	return func(p *v1.Pod) {
		preferred := &podAntiAffinity(p).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred, v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(topologyKey, label, value)})
	}
}

// PreferBesidePods with that label in the topology: preferred affinity.
func PreferBesidePods(weight int32, topologyKey, label, value string) PodOption {
	return func(p *v1.Pod) {
		preferred := &podAffinity(p).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred, v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(topologyKey, label, value)})
	}
}

// RunsImage names the first container's image.
func RunsImage(image string) PodOption {
	return func(p *v1.Pod) { p.Spec.Containers[0].Image = image }
}

// Mounts a claim of the pod's namespace.
func Mounts(claim string) PodOption {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
}

// StartedAt is the start time of a pod that an option bound to a node.
func StartedAt(at time.Time) PodOption {
	return func(p *v1.Pod) { p.Status.StartTime = &metav1.Time{Time: at} }
}

// EndsWithin leaves a deleted pod so long to end: without a kubelet it stays, terminating.
func EndsWithin(seconds int64) PodOption {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

func affinity(p *v1.Pod) *v1.Affinity { return made(&p.Spec.Affinity) }

func nodeAffinity(p *v1.Pod) *v1.NodeAffinity { return made(&affinity(p).NodeAffinity) }

func podAffinity(p *v1.Pod) *v1.PodAffinity { return made(&affinity(p).PodAffinity) }

func podAntiAffinity(p *v1.Pod) *v1.PodAntiAffinity { return made(&affinity(p).PodAntiAffinity) }

// made is what a pointer points at, after making it where there is nothing.
func made[T any](pointer **T) *T {
	if *pointer == nil {
		*pointer = new(T)
	}
	return *pointer
}

func term(topologyKey, label, value string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: topologyKey, LabelSelector: selector(label, value)}
}

func selector(label, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
}

// CreatePods in parallel, after the priority classes that they name by Priority. Pods that options
// bound to a node are set Running, started at their creation unless StartedAt says otherwise.
func (c *ControlPlane) CreatePods(ctx context.Context, pods ...*v1.Pod) error {
	if err := c.createPriorities(ctx, pods); err != nil {
		return err
	}
	return parallel(ctx, len(pods), func(i int) error {
		if err := c.createPod(ctx, pods[i]); err != nil {
			return fmt.Errorf("lab: pod %s/%s: %w", pods[i].Namespace, pods[i].Name, err)
		}
		return nil
	})
}

func (c *ControlPlane) createPod(ctx context.Context, pod *v1.Pod) error {
	stored, err := c.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	// The API server's admission may hear of a class that was just made a moment later.
	for deadline := time.Now().Add(classPatience); isClassUnknown(err) && time.Now().Before(deadline); {
		time.Sleep(classPatience / 100)
		stored, err = c.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	}
	if err != nil || pod.Spec.NodeName == "" {
		return err
	}
	since := time.Now()
	if pod.Status.StartTime != nil {
		since = pod.Status.StartTime.Time
	}
	return c.run(ctx, stored, since)
}

// Run sets a bound pod Running since then, as its kubelet would.
func (c *ControlPlane) Run(ctx context.Context, namespace, name string, since time.Time) error {
	pod, err := c.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return c.run(ctx, pod, since)
}

func (c *ControlPlane) run(ctx context.Context, pod *v1.Pod, since time.Time) error {
	start := metav1.NewTime(since)
	pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &start
	_, err := c.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// DeletePod at once.
func (c *ControlPlane) DeletePod(ctx context.Context, namespace, name string) error {
	return c.Client.CoreV1().Pods(namespace).Delete(ctx, name, *metav1.NewDeleteOptions(0))
}

// OpenGate takes the gates off a pod.
func (c *ControlPlane) OpenGate(ctx context.Context, namespace, name string) error {
	_, err := c.Client.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"spec": {"schedulingGates": null}}`), metav1.PatchOptions{})
	return err
}

// TerminatePod leaves it so long to end: without a kubelet it stays, terminating.
func (c *ControlPlane) TerminatePod(ctx context.Context, namespace, name string, seconds int64) error {
	return c.Client.CoreV1().Pods(namespace).Delete(ctx, name, *metav1.NewDeleteOptions(seconds))
}
