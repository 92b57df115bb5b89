package integration

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
	"headroom.dev/shim/wire"
)

// The engine with kube-scheduler's default profile and stock kube-scheduler, whose DefaultPreemption tries
// every node, are asked about the same pod of the same full cluster: the same pods have to go from the same
// node, or none can help, for the same reasons. Where nodes tie by all of upstream's five criteria stock takes any of them: then the
// engine's answer for the node that stock took is compared, and that it ranks like the one that it named
// itself.

// rank of a node's victims: what pickOneNodeForPreemption looks at. Nodes of equal ranks tie.
type rank struct {
	budgetViolations int64
	highestPriority  int32
	sumOfPriorities  int64
	victims          int
	started          int64 // the oldest of the highest priority
}

func rankOf(victims []client.Victim, violations int64, started map[string]time.Time) rank {
	r := rank{budgetViolations: violations, highestPriority: math.MinInt32, victims: len(victims)}
	for _, victim := range victims {
		r.sumOfPriorities += int64(victim.Priority) + math.MaxInt32 + 1
		r.highestPriority = max(r.highestPriority, victim.Priority)
	}
	r.started = math.MaxInt64
	for _, victim := range victims {
		if victim.Priority == r.highestPriority {
			r.started = min(r.started, started[victim.Name].Unix())
		}
	}
	return r
}

// preemption is who has to go from where; no node: why none helps, as kube-scheduler words it.
type preemption struct {
	node    string
	victims []string // sorted
	why     string
}

func (p preemption) String() string {
	if p.node == "" {
		return "no node: " + p.why
	}
	return p.node + " without " + strings.Join(p.victims, " ")
}

// stockPreemption waits until kube-scheduler has rejected the pod, and evicted whom it wanted to.
func stockPreemption(log *stockLog, pod *v1.Pod) (did preemption, fits bool) {
	log.Helper()
	key := pod.Namespace + "/" + pod.Name
	for target, done := false, false; !done; {
		line := log.next(func() {})
		switch {
		case line.message == saysBound && line.values["pod"] == key:
			return preemption{}, true
		case line.message == saysTarget && line.values["pod"] == key:
			target = true
		case line.message == saysRejected && line.values["pod"] == key && !target:
			_, did.why, _ = strings.Cut(line.values["err"], "preemption: ")
			return did, false
		case line.message == saysPreempted && line.values["preemptor"] == key:
			done = true
		}
	}
	log.ok(lab.Eventually(log.ctx, patience, func() error {
		if did.node = log.getPod(pod.Namespace, pod.Name).Status.NominatedNodeName; did.node == "" {
			return errors.New("the pod is not nominated")
		}
		return nil
	}))
	pods, err := plane.Pods(log.ctx, pod.Namespace)
	log.ok(err)
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			did.victims = append(did.victims, pods[i].Name)
		}
	}
	slices.Sort(did.victims)
	return did, false
}

func namesOf(victims []client.Victim) []string {
	var names []string
	for _, victim := range victims {
		names = append(names, victim.Name)
	}
	slices.Sort(names)
	return names
}

// The engine preempts as CapacityScheduling, which names every node on which nobody could go; DefaultPreemption
// counts them.
var nobodyToGo = regexp.MustCompile(`^1 No victims found on node \S+ for preemptor pod \S+$`)

// defaultPreemptionWords are the engine's reasons for which no node helps, with such nodes counted.
func defaultPreemptionWords(why string) string {
	head, list, found := strings.Cut(strings.TrimSuffix(why, "."), ": ")
	reasons := strings.Split(list, ", ")
	others := slices.DeleteFunc(slices.Clone(reasons), nobodyToGo.MatchString)
	nobody := len(reasons) - len(others)
	if !found || nobody == 0 {
		return why
	}
	others = append(others, fmt.Sprintf("%d No preemption victims found for incoming pod", nobody))
	slices.Sort(others)
	return head + ": " + strings.Join(others, ", ") + "."
}

// preemptionParity is what was compared of a kind of preemptor.
type preemptionParity struct {
	clusters, sameNode, tied, noNode, victims, againstBudgets, differ int
}

// compare the engine's answer with what stock did; "" where they agree.
func (p *preemptionParity) compare(stock preemption, engine *client.PostFilterAnswer, started map[string]time.Time) string {
	p.clusters++
	own := preemption{engine.NominatedNode, namesOf(engine.Victims), defaultPreemptionWords(strings.Join(engine.Reasons, ", "))}
	if engine.PDBViolations > 0 {
		p.againstBudgets++
	}
	p.victims += len(stock.victims)
	if stock.node == own.node && slices.Equal(stock.victims, own.victims) && stock.why == own.why {
		if own.node == "" {
			p.noNode++
		} else {
			p.sameNode++
		}
		return ""
	}
	difference := fmt.Sprintf("kube-scheduler: %v; engine: %v", stock, own)
	for _, candidate := range engine.Candidates {
		if candidate.Node != stock.node || stock.node == own.node {
			continue
		}
		theirs, ours := rankOf(candidate.Victims, candidate.PDBViolations, started), rankOf(engine.Victims, engine.PDBViolations, started)
		if candidate.Code == wire.CodeSuccess && slices.Equal(stock.victims, namesOf(candidate.Victims)) && theirs == ours {
			p.tied++
			return ""
		}
		difference += fmt.Sprintf("\nengine of that node: %v, without %v, %v: %+v; of its own %+v", candidate.Code,
			namesOf(candidate.Victims), candidate.Reasons, theirs, ours)
	}
	p.differ++
	return difference
}

func (p *preemptionParity) add(other *preemptionParity) {
	p.clusters, p.sameNode, p.tied = p.clusters+other.clusters, p.sameNode+other.sameNode, p.tied+other.tied
	p.noNode, p.victims = p.noNode+other.noNode, p.victims+other.victims
	p.againstBudgets, p.differ = p.againstBudgets+other.againstBudgets, p.differ+other.differ
}

// preemptionTable has a row for each kind, and their sum.
func preemptionTable(kinds map[string]*preemptionParity) (string, preemptionParity) {
	var text strings.Builder
	var all preemptionParity
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "the pod asks for\tclusters\tsame node and victims\ta node that ties, its victims the same\tno node helps\tvictims\tagainst budgets\tdiffer")
	row := func(name string, p *preemptionParity) {
		fmt.Fprintf(columns, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", name, p.clusters, p.sameNode, p.tied, p.noNode, p.victims, p.againstBudgets, p.differ)
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		row(name, kinds[name])
		all.add(kinds[name])
	}
	row("all", &all)
	columns.Flush()
	return text.String(), all
}

func TestEveryPreemptionIsKubeSchedulers(t *testing.T) {
	c := newCluster(t)
	clusters, nodes := 100, 16
	if long() {
		clusters, nodes = 300, 40
	}
	drawnBy := seed(t)
	engine := c.startDefaultProfile()
	log := c.startStockLog(lab.SchedulerConfig{PercentageOfNodesToScore: 100, Profiles: []lab.SchedulerProfile{{
		PluginConfig: []lab.PluginConfig{argsOf("DefaultPreemption", m{"minCandidateNodesPercentage": 100})}}}})
	kinds, began := map[string]*preemptionParity{}, time.Now()
	for _, kind := range preemptorKinds {
		kinds[kind.name] = &preemptionParity{}
	}
	for number := range clusters {
		drawn := newFullCluster(c.ns, drawnBy, uint64(number), nodes)
		c.ok(plane.Clear(c.ctx))
		c.nodes(drawn.nodes...)
		c.ok(plane.CreateObjects(c.ctx, drawn.budgets...), plane.CreatePods(c.ctx, drawn.running...))
		started := map[string]time.Time{}
		for _, pod := range drawn.running {
			started[pod.Name] = pod.Status.StartTime.Time
		}
		fed := c.feed()
		c.ok(plane.CreatePods(c.ctx, drawn.preemptor))
		answer, err := engine.PostFilter(c.ctx, asCreated(c.getPod(c.ns, drawn.preemptor.Name)), client.PostFilterOptions{Candidates: true})
		c.ok(err)
		stock, fits := stockPreemption(log, drawn.preemptor)
		fed.end()
		if fits {
			t.Errorf("cluster %d (%s): the pod has room: the test is to be mended", number, drawn.kind)
			continue
		}
		if difference := kinds[drawn.kind].compare(stock, answer, started); difference != "" {
			t.Errorf("cluster %d (%s):\n%s", number, drawn.kind, difference)
		}
	}
	table, all := preemptionTable(kinds)
	t.Logf("%d clusters of %d nodes, %v\n%s", clusters, nodes, time.Since(began).Round(time.Second), table)
	if all.sameNode < clusters/2 || all.noNode == 0 || all.againstBudgets == 0 || all.victims < clusters {
		t.Error("too little was preempted, or nothing rejected, or no budget touched: the test is to be mended")
	}
}
