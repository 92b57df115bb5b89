package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// With NodeResourcesFit alone the chosen node is always among those that stock kube-scheduler would score
// highest (LeastAllocated, percentageOfNodesToScore 100). The scores are computed here, from
// Kubernetes' documentation: of cpu and memory each what is free after the pod, in percent of what is
// allocatable, and their mean, all rounded down; a container that asks for no cpu or memory counts with
// 100m and 200MiB.

type fitNode struct {
	name                 string
	cpu, memory          int64 // allocatable, milli and bytes
	usedCPU, usedMemory  int64 // as scores count
	askedCPU, askedBytes int64 // as the filter counts
}

const (
	unsaidCPU    = 100
	unsaidMemory = 200 << 20
)

// fitAsk is what a pod of plain containers counts for scores and for the filter.
func fitAsk(pod *v1.Pod) (cpu, memory, askedCPU, askedMemory int64) {
	for _, container := range pod.Spec.Containers {
		if quantity, found := container.Resources.Requests[v1.ResourceCPU]; found {
			cpu, askedCPU = cpu+quantity.MilliValue(), askedCPU+quantity.MilliValue()
		} else {
			cpu += unsaidCPU
		}
		if quantity, found := container.Resources.Requests[v1.ResourceMemory]; found {
			memory, askedMemory = memory+quantity.Value(), askedMemory+quantity.Value()
		} else {
			memory += unsaidMemory
		}
	}
	return
}

func (n *fitNode) score(cpu, memory int64) int64 {
	free := func(has, used int64) int64 {
		if used > has {
			return 0
		}
		return (has - used) * 100 / has
	}
	return (free(n.cpu, n.usedCPU+cpu) + free(n.memory, n.usedMemory+memory)) / 2
}

// bestNodes that the pod fits on, by stock's scores.
func bestNodes(nodes []*fitNode, pod *v1.Pod) (map[string]bool, int64) {
	cpu, memory, askedCPU, askedMemory := fitAsk(pod)
	names, highest := map[string]bool{}, int64(-1)
	for _, n := range nodes {
		if n.askedCPU+askedCPU > n.cpu || n.askedBytes+askedMemory > n.memory {
			continue
		}
		score := n.score(cpu, memory)
		if score > highest {
			names, highest = map[string]bool{}, score
		}
		if score == highest {
			names[n.name] = true
		}
	}
	return names, highest
}

func TestFitAloneChoosesAmongStocksBest(t *testing.T) {
	for name, start := range map[string]func(*cluster){
		"headroom": func(c *cluster) { c.start(setup{engine: onlyFit(), engineScores: true}) },
		// The same check of kube-scheduler itself tells whether the check is right.
		"stock": func(c *cluster) {
			c.startStock(lab.SchedulerConfig{PercentageOfNodesToScore: 100, Profiles: []lab.SchedulerProfile{{
				Plugins: map[string]lab.PluginSet{"score": {Enabled: lab.Plugins("NodeResourcesFit"), Disabled: lab.Plugins("*")}}}}})
		},
	} {
		t.Run(name, func(t *testing.T) { fitAlone(t, start) })
	}
}

func fitAlone(t *testing.T, start func(*cluster)) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(7, 7))
	nodes, pods := 60, 120
	if long() {
		nodes, pods = 500, 2_000
	}
	byName := map[string]*fitNode{}
	var all []*fitNode
	var objects []*v1.Node
	for i := range nodes {
		cpu, memory := int64(2+random.IntN(31))*500, int64(2+random.IntN(63))<<29
		n := &fitNode{name: fmt.Sprintf("node-%04d", i), cpu: cpu, memory: memory}
		all, byName[n.name] = append(all, n), n
		objects = append(objects, lab.Node(n.name, lab.Allocatable("cpu", fmt.Sprintf("%dm", cpu)),
			lab.Allocatable("memory", fmt.Sprint(memory))))
	}
	c.nodes(objects...)
	start(c)
	ties := 0
	for i, name := range numbered("p", pods) {
		pod := c.pod(name)
		asks := pod.Spec.Containers[0].Resources.Requests
		// Now and then one of the two is not said; every eighth pod is as the one before.
		draw := random.IntN(8)
		if draw != 0 {
			asks[v1.ResourceCPU] = *resource.NewMilliQuantity(int64(1+random.IntN(700)), resource.DecimalSI)
		}
		if draw != 1 {
			asks[v1.ResourceMemory] = *resource.NewQuantity(int64(1+random.IntN(1<<30)), resource.BinarySI)
		}
		best, score := bestNodes(all, pod)
		if len(best) == 0 {
			t.Fatalf("pod %d fits nowhere: the test is to be mended", i)
		}
		if len(best) > 1 {
			ties++
		}
		c.pods(pod)
		node := c.soon(name)
		chosen := byName[node]
		cpu, memory, askedCPU, askedMemory := fitAsk(pod)
		if !best[node] {
			t.Errorf("pod %d (%v): on %s with score %d; %d nodes have the highest, %d", i, asks, node,
				chosen.score(cpu, memory), len(best), score)
		}
		chosen.usedCPU, chosen.usedMemory = chosen.usedCPU+cpu, chosen.usedMemory+memory
		chosen.askedCPU, chosen.askedBytes = chosen.askedCPU+askedCPU, chosen.askedBytes+askedMemory
	}
	t.Logf("%d pods, %d of them with several best nodes", pods, ties)
	c.feasible(check.Rules{})
}

// soon is bound for one pod after another, asked often.
func (c *cluster) soon(name string) string {
	c.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		if node := c.getPod(c.ns, name).Spec.NodeName; node != "" {
			return node
		}
	}
	c.Fatal(lab.Message(c.getPod(c.ns, name)))
	return ""
}
