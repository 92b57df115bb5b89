package integration

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// applications are a random cluster as one finds it: nodes of some sizes in zones, with taints, images and
// devices; ReplicaSets with Services; pods that ask for what kube-scheduler's default plugins look at. The
// same seed makes the same.
type applications struct {
	namespaces []string
	random     *rand.Rand
	nodes      []*v1.Node
	objects    []metav1.Object // what pods and nodes refer to
	pods       []applicationPod

	namespace string // of the pod that is drawn
}

// applicationPod is a pod, and what it is there for.
type applicationPod struct {
	*v1.Pod
	kind string
	// Its claim is bound when its node is known.
	waitingClaim bool
}

const (
	waitingClass = "waiting"
	imageCount   = 6
	shopCount    = 6
	streetCount  = 3 // each a Service, with shops of all names
	nodeTiers    = 10

	dedicated = "dedicated"
	spot      = "spot"
	disk      = "disk"
	tier      = "tier"
	app       = "app"
	street    = "street"
	revision  = "revision"
)

func newApplications(namespaces []string, seed uint64, nodes, pods int) *applications {
	a := &applications{namespaces: namespaces, random: rand.New(rand.NewPCG(seed, 0))}
	a.objects = append(a.objects, lab.WaitingClass(waitingClass))
	a.drawNodes(nodes)
	for _, namespace := range namespaces {
		for shop := range shopCount {
			name := shopName(shop)
			a.objects = append(a.objects, lab.ReplicaSet(namespace, name, app, name))
		}
		for number := range streetCount {
			name := streetName(number)
			a.objects = append(a.objects, lab.Service(namespace, name, street, name))
		}
	}
	for i := range pods {
		a.drawPod(i)
	}
	return a
}

func shopName(number int) string { return fmt.Sprintf("shop-%d", number) }

func streetName(number int) string { return fmt.Sprintf("street-%d", number) }

func imageName(number int) string { return fmt.Sprintf("registry.example/app-%d:v1", number) }

// imageBytes is the same on every node, as the same image is.
func imageBytes(number int) int64 { return int64(60+300*number) << 20 }

func (a *applications) one(of ...string) string { return of[a.random.IntN(len(of))] }

func (a *applications) chance(percent int) bool { return a.random.IntN(100) < percent }

func (a *applications) shop() string { return shopName(a.random.IntN(shopCount)) }

func (a *applications) weight() int32 { return 1 + a.random.Int32N(100) }

func (a *applications) drawNodes(count int) {
	for i := range count {
		name, cpu := fmt.Sprintf("node-%04d", i), 2<<a.random.IntN(4)
		options := []lab.NodeOption{lab.Zone(zones[a.random.IntN(len(zones))]), lab.NodeLabel(disk, a.one("ssd", "hdd")),
			lab.NodeLabel(tier, fmt.Sprint(a.random.IntN(nodeTiers))), lab.Allocatable("cpu", fmt.Sprint(cpu)),
			lab.Allocatable("memory", fmt.Sprintf("%dGi", cpu*(2+2*a.random.IntN(3)))), lab.Allocatable("pods", a.one("110", "110", "12"))}
		switch i % 24 {
		case 3, 13:
			options = append(options, lab.Taint(dedicated, "batch", v1.TaintEffectNoSchedule))
		case 5, 15, 20:
			options = append(options, lab.Taint(spot, "yes", v1.TaintEffectPreferNoSchedule))
		case 8:
			options = append(options, lab.Cordoned())
		case 11:
			options = append(options, lab.Taint(spot, "yes", v1.TaintEffectPreferNoSchedule),
				lab.Taint("old", "", v1.TaintEffectPreferNoSchedule))
		case 14, 22:
			options = append(options, lab.Allocatable(gpu, "4"))
		case 17:
			options = append(options, func(n *v1.Node) { delete(n.Labels, v1.LabelTopologyZone) })
		}
		for image := range imageCount {
			if a.chance(30) {
				options = append(options, lab.HasImage(imageName(image), imageBytes(image)))
			}
		}
		a.nodes = append(a.nodes, lab.Node(name, options...))
		if a.chance(40) {
			a.objects = append(a.objects, lab.AttachLimit(name, 1+a.random.Int32N(4)))
		}
	}
}

// podKinds and how many of 40 pods are of it. Each says what the pod asks for beyond resources.
var podKinds = []struct {
	name  string
	of40  int
	draws func(a *applications, name string) []lab.PodOption
}{
	{"spread by default", 6, func(a *applications, _ string) []lab.PodOption {
		// A Service, a ReplicaSet, both or neither select it.
		shop := a.shop()
		options := []lab.PodOption{lab.PodLabel(app, shop)}
		if a.chance(70) {
			options = append(options, lab.PodLabel(street, streetName(a.random.IntN(streetCount))))
		}
		if a.chance(70) {
			options = append(options, lab.OwnedBy("ReplicaSet", shop))
		}
		return options
	}},
	{"soft spread", 4, func(a *applications, _ string) []lab.PodOption {
		label := a.one("soft-0", "soft-1")
		return []lab.PodOption{lab.PodLabel(app, label),
			lab.SpreadSoftly(v1.LabelTopologyZone, 1+a.random.Int32N(3), app, label),
			lab.SpreadSoftly(v1.LabelHostname, 1+a.random.Int32N(3), app, label)}
	}},
	{"hard spread", 4, func(a *applications, _ string) []lab.PodOption {
		label := a.one("hard-0", "hard-1")
		return []lab.PodOption{lab.PodLabel(app, label), lab.Spread(v1.LabelTopologyZone, 1+a.random.Int32N(2), app, label),
			a.spreadPolicies()}
	}},
	{"anti-affinity", 3, func(a *applications, _ string) []lab.PodOption {
		label := a.one("apart-0", "apart-1", "apart-2")
		return []lab.PodOption{lab.PodLabel(app, label), lab.ApartFrom(v1.LabelHostname, app, label)}
	}},
	{"preferred anti-affinity", 3, func(a *applications, _ string) []lab.PodOption {
		label := a.one("softly-apart-0", "softly-apart-1")
		return []lab.PodOption{lab.PodLabel(app, label), lab.PreferApartFrom(a.weight(), v1.LabelHostname, app, label),
			lab.PreferApartFrom(a.weight(), v1.LabelTopologyZone, app, a.shop())}
	}},
	{"affinity", 3, func(a *applications, _ string) []lab.PodOption {
		label := a.one("beside-0", "beside-1")
		return []lab.PodOption{lab.PodLabel(app, label), lab.BesidePods(v1.LabelTopologyZone, app, label)}
	}},
	{"preferred affinity", 3, func(a *applications, _ string) []lab.PodOption {
		return []lab.PodOption{lab.PodLabel(app, "friend"), lab.PreferBesidePods(a.weight(), v1.LabelTopologyZone, app, a.shop()),
			lab.PreferBesidePods(a.weight(), v1.LabelHostname, app, a.shop()), a.termNamespaces()}
	}},
	{"node affinity", 2, func(a *applications, _ string) []lab.PodOption {
		return []lab.PodOption{a.prefersNodes(), a.prefersNodes(), lab.RequireNodeAffinity(v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: tier, Operator: v1.NodeSelectorOpGt, Values: []string{fmt.Sprint(a.random.IntN(nodeTiers - 2))}}}})}
	}},
	{"tolerations", 2, func(a *applications, _ string) []lab.PodOption {
		return []lab.PodOption{lab.Tolerate(dedicated, v1.TaintEffectNoSchedule), lab.Tolerate(spot, v1.TaintEffectPreferNoSchedule)}
	}},
	{"image", 2, func(a *applications, _ string) []lab.PodOption { return []lab.PodOption{a.runsImage()} }},
	{"claim that is bound", 2, func(a *applications, name string) []lab.PodOption {
		claim := lab.Claim(a.namespace, name, "", "5Gi")
		a.objects = append(a.objects, claim, lab.For(lab.Volume(name, "", a.one(zones...), "10Gi"), claim))
		return []lab.PodOption{lab.Mounts(name)}
	}},
	{"device", 1, func(*applications, string) []lab.PodOption { return []lab.PodOption{amount(gpu, "1")} }},
	{"host port", 1, func(a *applications, _ string) []lab.PodOption {
		return []lab.PodOption{lab.HostPort(9000 + a.random.Int32N(3))}
	}},
	{"one zone or node", 1, func(a *applications, _ string) []lab.PodOption {
		if a.chance(30) {
			return []lab.PodOption{lab.RequireNodeName(a.nodes[a.random.IntN(len(a.nodes))].Name)}
		}
		return []lab.PodOption{lab.SelectZone(a.one(zones...))}
	}},
	{"without requests", 1, func(*applications, string) []lab.PodOption { return []lab.PodOption{asksNothing} }},
	{"for no node", 1, func(a *applications, _ string) []lab.PodOption {
		return [][]lab.PodOption{
			{lab.Request("cpu", "64")},
			{lab.SelectZone("zone-9")},
			{lab.RequireNodeName("node-9999")},
			{lab.BesidePods(v1.LabelTopologyZone, app, "nobody")},
			{lab.Mounts("no-such-claim")},
		}[a.random.IntN(5)]
	}},
	{waitingKind, 1, nil},
}

const (
	waitingKind = "claim that waits for its pod"
	// Of the pods of that kind few have a claim: kube-scheduler takes a second for each.
	waitingOf = 3
	kindsOf   = 40
)

func kindOf(number int) int {
	left := number % kindsOf
	for i, kind := range podKinds {
		if left -= kind.of40; left < 0 {
			return i
		}
	}
	panic("podKinds are less than 40")
}

func (a *applications) drawPod(number int) {
	name, kind := fmt.Sprintf("p-%04d", number), podKinds[kindOf(number)]
	a.namespace = a.one(a.namespaces...)
	var own []lab.PodOption
	waits := kind.name == waitingKind && number/kindsOf%waitingOf == 0
	if waits {
		own = a.waitsForVolume(name)
	} else if kind.draws != nil {
		own = kind.draws(a, name)
	}
	options := []lab.PodOption{lab.PodLabel(revision, a.one("1", "2")), lab.Request("cpu", fmt.Sprintf("%dm", 50*(1+a.random.IntN(28)))),
		lab.Request("memory", fmt.Sprintf("%dMi", 64*(1+a.random.IntN(24))))}
	// Some pods ask for several things.
	if a.chance(20) {
		options = append(options, a.prefersNodes())
	}
	if a.chance(20) {
		options = append(options, a.runsImage())
	}
	if a.chance(15) {
		options = append(options, lab.PreferBesidePods(a.weight(), v1.LabelTopologyZone, app, a.shop()))
	}
	if a.chance(10) {
		options = append(options, lab.Tolerate(spot, v1.TaintEffectPreferNoSchedule))
	}
	if a.chance(10) {
		options = append(options, a.initContainer())
	}
	if a.chance(15) {
		options = append(options, lab.Priority(100*a.random.Int32N(4)))
	}
	pod := lab.Pod(a.namespace, name, append(options, own...)...)
	a.pods = append(a.pods, applicationPod{Pod: pod, kind: kind.name, waitingClaim: waits})
}

func asksNothing(p *v1.Pod) { clear(p.Spec.Containers[0].Resources.Requests) }

// initContainer asks for more than the others, or for less.
func (a *applications) initContainer() lab.PodOption {
	cpu, image := resource.NewMilliQuantity(100*(1+a.random.Int64N(20)), resource.DecimalSI), imageName(a.random.IntN(imageCount))
	return func(p *v1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: "init", Image: image,
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: *cpu}}})
	}
}

func (a *applications) runsImage() lab.PodOption {
	return lab.RunsImage(imageName(a.random.IntN(imageCount)))
}

func (a *applications) prefersNodes() lab.PodOption {
	expression := v1.NodeSelectorRequirement{Key: disk, Operator: v1.NodeSelectorOpIn, Values: []string{a.one("ssd", "hdd")}}
	if a.chance(50) {
		expression = v1.NodeSelectorRequirement{Key: tier, Operator: v1.NodeSelectorOpLt, Values: []string{fmt.Sprint(1 + a.random.IntN(nodeTiers))}}
	}
	return lab.PreferNodeAffinity(a.weight(), v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{expression}})
}

// termNamespaces of the pod's preferred affinity: its own, all, or those that are named.
func (a *applications) termNamespaces() lab.PodOption {
	draw, named := a.random.IntN(3), a.one(a.namespaces...)
	return func(p *v1.Pod) {
		preferred := p.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		for i := range preferred {
			switch draw {
			case 0:
				preferred[i].PodAffinityTerm.NamespaceSelector = &metav1.LabelSelector{}
			case 1:
				preferred[i].PodAffinityTerm.NamespaceSelector = &metav1.LabelSelector{
					MatchLabels: map[string]string{v1.LabelMetadataName: named}}
			}
		}
	}
}

// spreadPolicies of the pod's constraints; one of them is that only pods of the same revision count.
func (a *applications) spreadPolicies() lab.PodOption {
	honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
	draw := a.random.IntN(4)
	return func(p *v1.Pod) {
		for i := range p.Spec.TopologySpreadConstraints {
			constraint := &p.Spec.TopologySpreadConstraints[i]
			switch draw {
			case 0:
				constraint.NodeTaintsPolicy = &honor
			case 1:
				constraint.NodeAffinityPolicy = &ignore
			case 2:
				domains := int32(len(zones))
				constraint.MinDomains = &domains
			default:
				constraint.MatchLabelKeys = []string{revision}
			}
		}
	}
}

// waitsForVolume: a claim, and volumes of several zones and sizes that would do.
func (a *applications) waitsForVolume(name string) []lab.PodOption {
	a.objects = append(a.objects, lab.Claim(a.namespace, name, waitingClass, fmt.Sprintf("%dGi", 1+a.random.IntN(9))))
	for i := range 2 {
		a.objects = append(a.objects, lab.Volume(fmt.Sprintf("%s-%d", name, i), waitingClass, a.one(zones...),
			fmt.Sprintf("%dGi", 5+a.random.IntN(40))))
	}
	return []lab.PodOption{lab.Mounts(name)}
}
