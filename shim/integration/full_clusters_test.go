package integration

import (
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// fullCluster is a random cluster in which no node has room, with disruption budgets, and a pod that others
// would have to make room for. The same seed makes the same.
type fullCluster struct {
	namespace string
	random    *rand.Rand
	nodes     []*v1.Node
	budgets   []metav1.Object
	running   []*v1.Pod
	preemptor *v1.Pod
	kind      string
}

const (
	fullApps          = 5
	preemptorPriority = 1000
	preemptorLabel    = "preemptor"
	rare              = "rare" // few pods have this label
	fullHostPort      = 9100
	startMinutes      = 40 // more than a node has pods
	// A node is full when it has less than this left.
	fullMilliCPU = 250
)

// Of a running pod; the last two are as important as the preemptor, or more.
var runningPriorities = []int32{-10, 0, 0, 100, 100, 200, 500, preemptorPriority, 2000}

// fullSince is when the first of the running pods may have started.
var fullSince = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newFullCluster(namespace string, seed, number uint64, nodes int) *fullCluster {
	f := &fullCluster{namespace: namespace, random: rand.New(rand.NewPCG(seed, number))}
	for i := range nodes {
		f.addNode(fmt.Sprintf("c%d-node-%02d", number, i))
	}
	// In every third cluster all applications have a budget that is nearly used up: some are gone against.
	strict := number%3 == 0
	for i := range fullApps {
		if strict || f.random.IntN(2) == 0 {
			allowed := f.random.Int32N(3)
			if strict {
				allowed /= 2
			}
			f.budgets = append(f.budgets, lab.Budget(namespace, fmt.Sprintf("c%d-budget-%d", number, i), allowed, app, f.app(i)))
		}
	}
	kind := preemptorKinds[int(number)%len(preemptorKinds)]
	f.kind = kind.name
	options := append([]lab.PodOption{lab.Priority(preemptorPriority), lab.PodLabel(preemptorLabel, "yes"),
		lab.Request("cpu", fmt.Sprintf("%dm", 500*(1+f.random.IntN(5)))),
		lab.Request("memory", fmt.Sprintf("%dGi", 1+f.random.IntN(4)))}, kind.draw(f)...)
	f.preemptor = lab.Pod(namespace, fmt.Sprintf("c%d-preemptor", number), options...)
	return f
}

func (f *fullCluster) app(number int) string { return fmt.Sprintf("app-%d", number) }

func (f *fullCluster) anApp() string { return f.app(f.random.IntN(fullApps)) }

// addNode and the pods that fill it.
func (f *fullCluster) addNode(name string) {
	cpu := 2 << f.random.IntN(3)
	options := []lab.NodeOption{lab.Zone(zones[f.random.IntN(len(zones))]), lab.Allocatable("cpu", fmt.Sprint(cpu)),
		lab.Allocatable("memory", fmt.Sprintf("%dGi", 4*cpu))}
	if f.random.IntN(10) == 0 {
		options = append(options, lab.Taint(dedicated, "batch", v1.TaintEffectNoSchedule))
	}
	f.nodes = append(f.nodes, lab.Node(name, options...))
	// No two pods of a node have started at once: which is more important would be left to chance. Those of
	// different nodes have.
	started := f.random.Perm(startMinutes)
	priorities := runningPriorities
	if f.random.IntN(8) == 0 {
		priorities = priorities[len(priorities)-2:] // nobody has to go from here
	}
	for milli, i := 1000*cpu, 0; milli >= fullMilliCPU; i++ {
		asks := min(milli, 250*(1+f.random.IntN(5)))
		milli -= asks
		options := []lab.PodOption{lab.Request("cpu", fmt.Sprintf("%dm", asks)), lab.Request("memory", fmt.Sprintf("%dMi", 256*(1+f.random.IntN(8)))),
			lab.Priority(priorities[f.random.IntN(len(priorities))]), lab.PodLabel(app, f.anApp()),
			lab.StartedAt(fullSince.Add(time.Duration(started[i]) * time.Minute)), lab.EndsWithin(endsSeconds)}
		switch f.random.IntN(14) {
		case 0:
			options = append(options, lab.HostPort(fullHostPort+int32(i)))
		case 1:
			options = append(options, lab.ApartFrom(v1.LabelHostname, preemptorLabel, "yes"))
		case 2, 3, 4:
			options = append(options, lab.PodLabel(rare, "yes"))
		}
		f.running = append(f.running, running(f.namespace, fmt.Sprintf("%s-p%d", name, i), name, options...))
	}
}

// preemptorKinds are what the pod asks for beside room.
var preemptorKinds = []struct {
	name string
	draw func(f *fullCluster) []lab.PodOption
}{
	{"room alone", func(*fullCluster) []lab.PodOption { return nil }},
	{"anti-affinity to an application on its node", func(f *fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.ApartFrom(v1.LabelHostname, app, f.anApp())}
	}},
	{"hard spread over zones", func(f *fullCluster) []lab.PodOption {
		name := f.anApp()
		return []lab.PodOption{lab.PodLabel(app, name), lab.Spread(v1.LabelTopologyZone, 1+f.random.Int32N(4), app, name)}
	}},
	{"hard spread over nodes", func(f *fullCluster) []lab.PodOption {
		name := f.anApp()
		return []lab.PodOption{lab.PodLabel(app, name), lab.Spread(v1.LabelHostname, 1, app, name)}
	}},
	{"a host port", func(f *fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.HostPort(fullHostPort + f.random.Int32N(3))}
	}},
	{"one zone", func(f *fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.SelectZone(zones[f.random.IntN(len(zones))])}
	}},
	{"affinity to an application of the zone", func(f *fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.BesidePods(v1.LabelTopologyZone, app, f.anApp())}
	}},
	{"much, tolerating taints", func(*fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.Request("cpu", "3500m"), lab.Tolerate(dedicated, v1.TaintEffectNoSchedule)}
	}},
	{"anti-affinity to few pods of the zone", func(*fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.ApartFrom(v1.LabelTopologyZone, rare, "yes")}
	}},
	{"room, preempting nobody", func(*fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.NonPreempting(preemptorPriority)}
	}},
	{"more than any node has", func(*fullCluster) []lab.PodOption {
		return []lab.PodOption{lab.Request("cpu", "9")}
	}},
}
