package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

// The engine with kube-scheduler's default profile and stock kube-scheduler, which looks at every node, are
// asked about the same pods one after the other, each in the same state: they score every node the same by
// every plugin, or give the same reasons for which no node will do. What stock chose is then the state of
// both. Stock tells its scores in its log. Where nodes tie it draws lots: a seed repeats pods and nodes, not
// the run.

const (
	// After so many pods one that is bound leaves again.
	leavesOf = 8
	// What takes its time to end does so when the test is over.
	endsSeconds = 3600
)

// pluginParity is what was compared of one plugin.
type pluginParity struct {
	compared, equal, notZero int
	pods                     int // for which it told nodes apart
}

// parity is what was compared.
type parity struct {
	kinds                         map[string]int
	plugins                       map[string]*pluginParity
	pods, bound, rejected         int
	oneNodeLeft, severalBest      int // of those that were bound
	nodesScored, podsThatDiffered int
}

func newParity() *parity {
	return &parity{kinds: map[string]int{}, plugins: map[string]*pluginParity{}}
}

// differences are told, the first of them.
type differences struct {
	told []string
	more int
}

func (d *differences) add(format string, args ...any) {
	if len(d.told) == toldMax {
		d.more++
		return
	}
	d.told = append(d.told, fmt.Sprintf(format, args...))
}

func (d *differences) String() string {
	text := strings.Join(d.told, "\n")
	if d.more > 0 {
		text += fmt.Sprintf("\nand %d more", d.more)
	}
	return text
}

// compare two opinions of a pod; "" where they are the same.
func (p *parity) compare(kind string, stock, engine opinion) string {
	p.pods++
	p.kinds[kind]++
	var found differences
	if (stock.chosen == "") != (engine.chosen == "") || stock.why != engine.why {
		found.add("kube-scheduler: node %q, %q; engine: node %q, %q", stock.chosen, stock.why, engine.chosen, engine.why)
	}
	switch {
	case stock.chosen == "":
		p.rejected++
	case len(stock.nodes) == 0: // kube-scheduler scores nothing where one node is left
		p.bound++
		p.oneNodeLeft++
		if len(engine.nodes) != 1 || engine.chosen != stock.chosen {
			found.add("kube-scheduler has one node left, %s; the engine %v", stock.chosen, sorted(engine.nodes))
		}
	default:
		p.bound++
		p.compareNodes(stock, engine, &found)
	}
	if len(found.told) > 0 {
		p.podsThatDiffered++
	}
	return found.String()
}

func sorted[V any](names map[string]V) []string { return slices.Sorted(maps.Keys(names)) }

func (p *parity) compareNodes(stock, engine opinion, found *differences) {
	p.nodesScored += len(stock.nodes)
	best := stock.best()
	if len(best) > 1 {
		p.severalBest++
	}
	if !engine.best()[stock.chosen] || !best[engine.chosen] {
		found.add("kube-scheduler chose %s of its best %v, the engine %s of %v", stock.chosen, sorted(best), engine.chosen,
			sorted(engine.best()))
	}
	nodes := sorted(stock.nodes)
	if have := sorted(engine.nodes); !slices.Equal(have, nodes) {
		found.add("feasible: kube-scheduler %v, engine %v", nodes, have)
		return
	}
	plugins := map[string]bool{}
	for _, node := range nodes {
		if stock.totals[node] != engine.totals[node] {
			found.add("%s: total %d, engine %d", node, stock.totals[node], engine.totals[node])
		}
		for _, by := range []scores{stock.nodes[node], engine.nodes[node]} {
			for plugin := range by {
				plugins[plugin] = true
			}
		}
	}
	for _, plugin := range sorted(plugins) {
		if p.plugins[plugin] == nil {
			p.plugins[plugin] = &pluginParity{}
		}
		p.plugins[plugin].compare(plugin, nodes, stock, engine, found)
	}
}

func (p *pluginParity) compare(plugin string, nodes []string, stock, engine opinion, found *differences) {
	values := map[int64]bool{}
	for _, node := range nodes {
		want, have := stock.nodes[node][plugin], engine.nodes[node][plugin]
		p.compared++
		if want != 0 {
			p.notZero++
		}
		if want == have {
			p.equal++
		} else {
			found.add("%s: %s %d, engine %d", node, plugin, want, have)
		}
		values[want] = true
	}
	if len(values) > 1 {
		p.pods++
	}
}

// String is the table of what was compared.
func (p *parity) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d pods: %d bound (%d with one node left, %d with several best), %d rejected; %d nodes scored; %d pods differ\n\n",
		p.pods, p.bound, p.oneNodeLeft, p.severalBest, p.rejected, p.nodesScored, p.podsThatDiffered)
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "plugin\tscores\tequal\tnot 0\tpods whose nodes it tells apart")
	for _, name := range sorted(p.plugins) {
		plugin := p.plugins[name]
		fmt.Fprintf(columns, "%s\t%d\t%d\t%d\t%d\n", name, plugin.compared, plugin.equal, plugin.notZero, plugin.pods)
	}
	fmt.Fprintln(columns, "\nkind of pod\tpods")
	for _, kind := range sorted(p.kinds) {
		fmt.Fprintf(columns, "%s\t%d\n", kind, p.kinds[kind])
	}
	columns.Flush()
	return text.String()
}

// scoringPlugins of the default profile that the pods have something to say to.
func (c *cluster) scoringPlugins() []string {
	names := []string{"TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", "NodeResourcesFit",
		"NodeResourcesBalancedAllocation", "ImageLocality"}
	if c.kubernetesVersion().AtLeast(version.MustParse("1.37")) {
		names = append(names, "VolumeBinding") // before, StorageCapacityScoring was off by default
	}
	return names
}

func TestEveryScoreIsKubeSchedulers(t *testing.T) {
	c := newCluster(t)
	nodes, pods := 100, 1_000
	if long() {
		nodes, pods = 200, 3_000
	}
	spaces := []string{c.ns, c.ns + "-b"}
	drawn := newApplications(spaces, seed(t), nodes, pods)
	c.nodes(drawn.nodes...)
	c.ok(plane.CreateNamespaces(c.ctx, spaces...), plane.CreateObjects(c.ctx, drawn.objects...), plane.BindClaims(c.ctx))
	engine := c.startDefaultProfile()
	// What has no node waits: preemption is another test's.
	log := c.startStockLog(lab.SchedulerConfig{PercentageOfNodesToScore: 100, Profiles: []lab.SchedulerProfile{{
		Plugins: map[string]lab.PluginSet{"postFilter": {Disabled: lab.Plugins("*")}}}}})
	fed := c.feed()
	compared, began := newParity(), time.Now()
	for i, pod := range drawn.pods {
		c.pods(pod.Pod)
		said := c.engineOpinion(engine, asCreated(c.getPod(pod.Namespace, pod.Name)), nodes)
		stock := stockOpinion(log, pod.Namespace+"/"+pod.Name, func() {
			if pod.waitingClaim {
				c.ok(plane.BindClaims(c.ctx))
			}
		})
		if found := compared.compare(pod.kind, stock, said); found != "" && compared.podsThatDiffered <= toldMax {
			c.Errorf("pod %s (%s):\n%s", pod.Name, pod.kind, found)
		}
		if stock.chosen == "" {
			c.deletes(pod.Namespace, pod.Name) // else it would be tried again
			continue
		}
		if pod.waitingClaim {
			fed.refresh(client.PersistentVolumes)
			fed.refresh(client.PersistentVolumeClaims)
		}
		fed.put(client.Pods, c.getPod(pod.Namespace, pod.Name))
		if i%leavesOf == 0 && i > 0 {
			fed.leaves(drawn.random.IntN(i))
		}
	}
	t.Logf("%v\n%v", time.Since(began).Round(time.Second), compared)
	for _, name := range c.scoringPlugins() {
		if plugin := compared.plugins[name]; plugin == nil || plugin.pods == 0 {
			t.Errorf("%s told no pod's nodes apart: the test is to be mended", name)
		}
	}
	if compared.rejected == 0 || compared.bound == 0 {
		t.Error("no pod was bound, or none rejected: the test is to be mended")
	}
}

// asCreated is a pod as it was before kube-scheduler did anything to it.
func asCreated(pod *v1.Pod) *v1.Pod {
	pod.Spec.NodeName, pod.Status = "", v1.PodStatus{Phase: v1.PodPending}
	return pod
}

// leaves: one of the pods that are bound, by its place in the order of names. Every other time it takes its
// time, and terminates until the test is over.
func (f *facts) leaves(place int) {
	f.Helper()
	keys := f.stores[client.Pods].ListKeys()
	slices.Sort(keys)
	object, _, err := f.stores[client.Pods].GetByKey(keys[place%len(keys)])
	f.ok(err)
	pod := object.(*v1.Pod)
	if place%2 == 0 {
		f.deletes(pod.Namespace, pod.Name)
		f.remove(client.Pods, pod)
		return
	}
	f.ok(plane.TerminatePod(f.ctx, pod.Namespace, pod.Name, endsSeconds))
	f.put(client.Pods, f.getPod(pod.Namespace, pod.Name))
}
