package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/lab"
)

// Pods and nodes of every kind at once, on a cluster of 1,000 nodes: in the end every pod is on a node that
// the independent check finds feasible, nothing is lost, nothing is over its limits.

var zones = []string{"zone-1", "zone-2", "zone-3"}

// mixedNodes: sizes, zones, taints, cordons, ratios of their own; metrics of half of them, of which some
// are too busy and some silent.
func (c *cluster) mixedNodes(n int, random *rand.Rand) {
	c.Helper()
	var nodes []*v1.Node
	for i := range n {
		size := 4 << random.IntN(4)
		options := []lab.NodeOption{lab.Zone(zones[i%len(zones)]), lab.NodeLabel("size", fmt.Sprint(size)),
			lab.Allocatable("cpu", fmt.Sprint(size)), lab.Allocatable("memory", fmt.Sprintf("%dGi", 4*size))}
		switch i % 20 {
		case 3:
			options = append(options, lab.Taint("dedicated", "batch", v1.TaintEffectNoSchedule))
		case 7:
			options = append(options, lab.Cordoned())
		case 11:
			options = append(options, lab.NodeAnnotation("node.koordinator.sh/limit-to-allocatable", `{"cpu": "100%", "memory": 90}`))
		case 13:
			options = append(options, lab.NodeAnnotation("node.koordinator.sh/limit-to-allocatable", `{"cpu": "+5%"}`)) // bad
		case 17:
			options = append(options, lab.Allocatable(gpu, "4"))
		}
		nodes = append(nodes, lab.Node(fmt.Sprintf("node-%04d", i), options...))
	}
	c.nodes(nodes...)
	for i := 0; i < n; i += 2 {
		cpu := nodes[i].Status.Allocatable.Cpu().Value()
		memory := nodes[i].Status.Allocatable.Memory().Value()
		used, age := cpu*1000*int64(random.IntN(60))/100, time.Duration(0)
		switch i % 16 {
		case 4:
			used = cpu * 1000 * 80 / 100 // too busy
		case 8:
			age = time.Hour // silent
		}
		c.ok(lab.NodeMetric{Node: nodes[i].Name, Updated: time.Now().Add(-age), Usage: lab.Amounts{
			"cpu": fmt.Sprintf("%dm", used), "memory": fmt.Sprint(memory / 100 * int64(random.IntN(80)))}}.Put(c.ctx, plane))
	}
}

// mixedPods: all of them have a place but those named too-large.
func (c *cluster) mixedPods(n int, teams []string, random *rand.Rand) []*v1.Pod {
	var pods []*v1.Pod
	for i := range n {
		milli := 50 * (1 + random.IntN(20))
		size := func(p *v1.Pod) {
			lab.Request("cpu", fmt.Sprintf("%dm", milli))(p)
			lab.Request("memory", fmt.Sprintf("%dMi", 64*(1+random.IntN(16))))(p)
			if i%3 > 0 {
				lab.Limit("cpu", fmt.Sprintf("%dm", milli*(1+random.IntN(3))))(p)
			}
		}
		name := fmt.Sprintf("pod-%04d", i)
		add := func(options ...lab.PodOption) { pods = append(pods, c.pod(name, append(options, size)...)) }
		switch i % 12 {
		case 1:
			add(lab.SelectZone(zones[random.IntN(len(zones))]))
		case 2:
			add(lab.Tolerate("dedicated", v1.TaintEffectNoSchedule), lab.Priority(int32(random.IntN(3))))
		case 3:
			add(lab.RequireNodeAffinity(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: "size", Operator: v1.NodeSelectorOpGt, Values: []string{"8"}},
				{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpNotIn, Values: []string{"zone-2"}}}}))
		case 4:
			group := fmt.Sprint("apart-", i/12%4)
			add(lab.PodLabel("app", group), lab.ApartFrom(v1.LabelHostname, "app", group))
		case 5:
			add(lab.PodLabel("app", "spread"), lab.Spread(v1.LabelTopologyZone, 1, "app", "spread"))
		case 6:
			add(lab.HostPort(int32(9000 + i/12%3)))
		case 7:
			add(lab.OwnedBy("DaemonSet", "agent"))
		case 8, 9:
			pods = append(pods, lab.Pod(teams[i%len(teams)], name, amount("cpu", fmt.Sprintf("%dm", milli))))
		case 10:
			add(amount(gpu, "1"))
		case 11:
			if i%144 == 11 {
				pods = append(pods, c.pod(fmt.Sprintf("too-large-%04d", i), lab.Request("cpu", "64")))
				continue
			}
			group := fmt.Sprint("together-", i/12%5)
			add(lab.PodLabel("app", group), lab.BesidePods(v1.LabelTopologyZone, "app", group))
		default:
			add()
		}
	}
	return pods
}

func TestMixedPodsOn1000Nodes(t *testing.T) {
	n := 400
	if long() {
		n = 2_000
	}
	c := newCluster(t)
	random := rand.New(rand.NewPCG(1, 2))
	teams := []string{c.team("a", "cpu", "400", "600"), c.team("b", "cpu", "400", "600")}
	c.mixedNodes(1_000, random)
	ratios := m{"cpu": 150, "memory": "120%"}
	c.start(setup{engine: standard(argsOf("LimitAware", m{"defaultLimitToAllocatableRatio": ratios})), elasticQuotas: true})
	pods := c.mixedPods(n, teams, random)
	began := time.Now()
	c.pods(pods...)
	large := 0
	for _, pod := range pods {
		if pod.Spec.Containers[0].Resources.Requests.Cpu().Value() == 64 {
			large++
		}
	}
	c.ok(lab.Eventually(c.ctx, 2*time.Minute, func() error {
		return c.countBound(append([]string{c.ns}, teams...), n-large)
	}))
	t.Logf("%d pods are bound and %d wait after %v", n-large, large, time.Since(began).Round(10*time.Millisecond))
	rules := loadRules(c)
	rules.ElasticQuotas = true
	rules.LimitRatios = map[v1.ResourceName]int64{"cpu": 150, "memory": 120}
	c.feasible(rules)
}

// A cluster too small for its pods, by requests, limits and quotas: what waits waits rightly, what is
// bound is within all bounds, and as pods leave others come.
func TestFullClusterStaysWithinAllBounds(t *testing.T) {
	c := newCluster(t)
	random := rand.New(rand.NewPCG(3, 4))
	c.nodes(lab.UniformNodes("node", 10, zones)...) // 80 cpu
	teams := []string{c.team("a", "cpu", "20", "30"), c.team("b", "cpu", "20", "25")}
	c.start(setup{engine: limitsTo(150), elasticQuotas: true})
	rules := limitRules(150)
	rules.ElasticQuotas = true
	var pods []*v1.Pod
	for i, name := range numbered("p", 150) {
		options := []lab.PodOption{lab.Request("cpu", fmt.Sprintf("%dm", 200+100*random.IntN(10))), lab.Limit("cpu", "2")}
		namespace := c.ns
		if i%3 > 0 {
			namespace = teams[i%3-1]
		}
		pods = append(pods, lab.Pod(namespace, name, options...))
	}
	c.pods(pods...)
	for _, pod := range pods { // borrowed ones may be taken back
		if pod.Namespace != c.ns {
			c.gone(pod.Namespace, pod.Name)
		}
	}
	settled := func() { c.Helper(); c.settled(append([]string{c.ns}, teams...)) }
	settled()
	c.feasible(rules)
	c.nobodyStranded(rules)
	rounds := 1
	if long() {
		rounds = 5
	}
	for round := range rounds {
		t.Logf("round %d: every fifth bound pod leaves", round)
		for _, namespace := range append([]string{c.ns}, teams...) {
			all, err := plane.Pods(c.ctx, namespace)
			c.ok(err)
			for i := range all {
				if all[i].Spec.NodeName != "" && random.IntN(5) == 0 {
					c.deletes(namespace, all[i].Name)
				}
			}
		}
		settled()
		c.feasible(rules)
		c.nobodyStranded(rules)
	}
}

// settled waits until no pod has been bound for a while and every other was told why not. Pods of quotas
// may have been taken back meanwhile.
func (c *cluster) settled(namespaces []string) {
	c.Helper()
	before, since := -1, time.Now()
	c.ok(lab.Eventually(c.ctx, time.Minute, func() error {
		bound, untold, err := c.tally(namespaces)
		if err != nil {
			return err
		}
		if untold > 0 {
			since = time.Now()
		}
		if bound != before {
			before, since = bound, time.Now()
		}
		if quietFor := time.Since(since); quietFor < 2*quiet {
			return fmt.Errorf("%d bound, quiet for %v", bound, quietFor)
		}
		return nil
	}))
}
