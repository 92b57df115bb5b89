package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

const (
	// For what takes milliseconds on an idle machine.
	patience = 20 * time.Second
	// A waiting pod wakes within this, with what its backoff adds.
	wakePatience = 8 * time.Second
	// How long is looked whether nothing happens.
	quiet = 1500 * time.Millisecond
)

// cluster is one test's: an empty cluster with a namespace, and the processes that it starts. Its
// methods end the test on an error.
type cluster struct {
	*testing.T
	ctx       context.Context
	ns        string // its own namespace
	daemon    *lab.Headroomd
	scheduler *lab.Scheduler
	created   []check.Name
	evicted   []check.Name
	began     time.Time
}

// newCluster skips where something is not built.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if worldMissing != nil {
		t.Skip(worldMissing)
	}
	c := &cluster{T: t, ctx: t.Context(), ns: namespaceOf(t.Name()), began: time.Now()}
	c.ok(plane.Clear(c.ctx))
	c.ok(plane.CreateNamespaces(c.ctx, c.ns))
	return c
}

// needsHeadroom skips where headroomd or our scheduler is not built.
func (c *cluster) needsHeadroom() {
	c.Helper()
	if err := world.Binaries.HasHeadroom(); err != nil {
		c.Skip(err)
	}
}

// namespaceMax leaves room for the name of a team behind it, within 63.
const namespaceMax = 40

func namespaceOf(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, strings.TrimPrefix(test, "Test"))
	return strings.Trim(name[:min(len(name), namespaceMax)], "-")
}

// setup of the engine and of the scheduler around it.
type setup struct {
	engine  lab.SchedulerProfile   // headroomd's profile
	engines []lab.SchedulerProfile // more of them, for other schedulers
	args    lab.HeadroomArgs       // its address is filled in
	// The engine's ranking alone decides: kube-scheduler's own scores are off.
	engineScores bool
	// Pods of quotas: preemption is Headroom's. Else kube-scheduler's own stays on beside it.
	elasticQuotas bool
	leader        *lab.LeaderElection
}

// start headroomd and the scheduler and wait until headroomd has all facts.
func (c *cluster) start(s setup) {
	c.Helper()
	c.startHeadroomd(s)
	c.scheduler = c.startScheduler(s)
	c.awaitFed()
}

func (c *cluster) startHeadroomd(s setup) {
	c.Helper()
	c.needsHeadroom()
	profile, err := lab.EngineProfile(s.engine, "", s.engines...)
	c.ok(err)
	c.daemon, err = world.StartHeadroomd(c.ctx, lab.HeadroomdOptions{Profile: profile})
	c.ok(err)
	c.own(c.daemon.Process)
}

func (c *cluster) startScheduler(s setup) *lab.Scheduler {
	c.Helper()
	scheduler, err := world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{Config: c.config(s)})
	c.ok(err)
	c.own(scheduler.Process)
	return scheduler
}

func (c *cluster) startStock(config lab.SchedulerConfig, args ...string) {
	c.Helper()
	var err error
	c.scheduler, err = world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{Stock: true, Config: config, Args: args})
	c.ok(err)
	c.own(c.scheduler.Process)
}

// own: the process ends with the test, and shows its log where that failed.
func (c *cluster) own(p *lab.Process) {
	c.Cleanup(func() {
		if c.Failed() {
			c.Log(p.LogTail())
		}
		world.Forget(p)
	})
}

func (c *cluster) awaitFed() {
	c.Helper()
	c.ok(lab.Eventually(c.ctx, patience, func() error { return c.daemon.Ready(c.ctx) }))
}

// config puts Headroom into kube-scheduler's default profile.
func (c *cluster) config(s setup) lab.SchedulerConfig {
	s.args.Address = c.daemon.Address
	if s.args.Timeout == "" {
		s.args.Timeout = "2s" // two cores run all of this
	}
	// As docs/scheduling.md has it: named once more, Headroom's PostFilter comes before kube-scheduler's own
	// preemption, which sees the K names alone and would evict somebody on one of them although other
	// nodes are free.
	multiPoint := lab.PluginSet{Enabled: []lab.Plugin{{Name: "Headroom", Weight: 10000}}}
	multiPoint.Defer()
	if s.elasticQuotas {
		multiPoint.Disabled = append(multiPoint.Disabled, lab.Plugins("DefaultPreemption")...)
	}
	plugins := map[string]lab.PluginSet{
		"multiPoint": multiPoint,
		"postFilter": {Enabled: lab.Plugins("Headroom")},
	}
	if s.engineScores {
		plugins["score"] = lab.PluginSet{Enabled: lab.Plugins("Headroom"), Disabled: lab.Plugins("*")}
	}
	return lab.SchedulerConfig{
		Profiles: []lab.SchedulerProfile{{Plugins: plugins, PluginConfig: []lab.PluginConfig{s.args.Config()}}},
		Leader:   s.leader,
		// Tests wait for pods: not longer than they must.
		InitialBackoffSeconds: 1, MaxBackoffSeconds: 2,
	}
}

// engine is a profile of headroomd with just these filters and scores.
func engine(filters, scores []string, args ...lab.PluginConfig) lab.SchedulerProfile {
	plugins := map[string]lab.PluginSet{"multiPoint": {Disabled: lab.Plugins("*")}}
	if filters != nil {
		plugins["filter"] = lab.PluginSet{Enabled: lab.Plugins(filters...)}
	}
	if scores != nil {
		plugins["score"] = lab.PluginSet{Enabled: lab.Plugins(scores...)}
	}
	return lab.SchedulerProfile{Plugins: plugins, PluginConfig: args}
}

// standard is what a user would run: kube-scheduler's plugins and Headroom's, with these arguments.
func standard(args ...lab.PluginConfig) lab.SchedulerProfile {
	return lab.SchedulerProfile{
		Plugins: map[string]lab.PluginSet{"multiPoint": {Enabled: lab.Plugins(
			"LimitAware", "LoadAwareScheduling", "CapacityScheduling")}},
		PluginConfig: args,
	}
}

func argsOf(plugin string, args any) lab.PluginConfig {
	return lab.PluginConfig{Name: plugin, Args: args}
}

type m = map[string]any

func (c *cluster) ok(errs ...error) {
	c.Helper()
	for _, err := range errs {
		if err != nil {
			c.Fatal(err)
		}
	}
}

func (c *cluster) nodes(nodes ...*v1.Node) {
	c.Helper()
	c.ok(plane.CreateNodes(c.ctx, nodes...))
}

// pods creates them and remembers that they must not be lost.
func (c *cluster) pods(pods ...*v1.Pod) {
	c.Helper()
	for _, pod := range pods {
		c.created = append(c.created, check.Name{Namespace: pod.Namespace, Name: pod.Name})
	}
	c.ok(plane.CreatePods(c.ctx, pods...))
}

// pod of the test's own namespace.
func (c *cluster) pod(name string, options ...lab.PodOption) *v1.Pod {
	return lab.Pod(c.ns, name, options...)
}

// bound waits until the pods of the test's namespace have a node; none named: all.
func (c *cluster) bound(names ...string) lab.Placed {
	c.Helper()
	return c.boundIn(c.ns, names...)
}

func (c *cluster) boundIn(namespace string, names ...string) lab.Placed {
	c.Helper()
	placed, err := plane.AwaitBound(c.ctx, patience, namespace, names...)
	c.ok(err)
	return placed
}

// wakes is bound with the patience of a wake.
func (c *cluster) wakes(names ...string) lab.Placed {
	c.Helper()
	placed, err := plane.AwaitBound(c.ctx, wakePatience, c.ns, names...)
	c.ok(err)
	return placed
}

// waits: the pod is rejected with such a message, and stays so.
func (c *cluster) waits(pod *v1.Pod, parts ...string) {
	c.Helper()
	c.ok(plane.AwaitRejected(c.ctx, patience, pod.Namespace, pod.Name, parts...),
		plane.StaysPending(c.ctx, quiet, pod.Namespace, pod.Name))
}

// on checks a pod's node.
func (c *cluster) on(placed lab.Placed, pod, node string) {
	c.Helper()
	if placed[pod] != node {
		c.Errorf("pod %s is on %s, not on %s", pod, placed[pod], node)
	}
}

// deletes a pod; it is not lost.
func (c *cluster) deletes(namespace string, names ...string) {
	c.Helper()
	for _, name := range names {
		c.gone(namespace, name)
		c.ok(plane.DeletePod(c.ctx, namespace, name))
	}
}

// gone: the pod may be missing in the end.
func (c *cluster) gone(namespace, name string) {
	c.evicted = append(c.evicted, check.Name{Namespace: namespace, Name: name})
}

// alive are the pods of a namespace, as "a b c", those without a node with "?".
func (c *cluster) alive(namespace string) string {
	c.Helper()
	pods, err := plane.Pods(c.ctx, namespace)
	c.ok(err)
	var names []string
	for i := range pods {
		name := pods[i].Name
		if pods[i].Spec.NodeName == "" {
			name += "?"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (c *cluster) wantAlive(namespace, want string) {
	c.Helper()
	if have := c.alive(namespace); have != want {
		c.Errorf("pods of %s: have %q, want %q", namespace, have, want)
	}
}

// feasible has the independent checker look at the whole cluster.
func (c *cluster) feasible(rules check.Rules) {
	c.Helper()
	c.none(check.Check(c.list(rules)))
}

// nobodyStranded: no pod waits that some node would take.
func (c *cluster) nobodyStranded(rules check.Rules) {
	c.Helper()
	c.none(check.Stranded(c.list(rules)))
}

func (c *cluster) list(rules check.Rules) check.Cluster {
	c.Helper()
	cluster, err := check.List(c.ctx, plane)
	c.ok(err)
	rules.Created, rules.Evicted = c.created, c.evicted
	rules.Foreign = func(p *v1.Pod) bool { return p.Labels[foreignLabel] != "" }
	cluster.Rules = rules
	return cluster
}

// toldMax violations are told; the first say what is wrong.
const toldMax = 20

func (c *cluster) none(found []check.Violation) {
	c.Helper()
	if len(found) > 0 {
		c.Errorf("the checker found %d violations:\n%s", len(found), check.Text(found[:min(len(found), toldMax)]))
	}
}

// foreignLabel marks pods that a test bound by hand.
const foreignLabel = "headroom.dev/placed-by-test"

// running is a pod that a test binds by hand.
func running(namespace, name, node string, options ...lab.PodOption) *v1.Pod {
	return lab.Pod(namespace, name, append(options, lab.OnNode(node), lab.PodLabel(foreignLabel, "yes"))...)
}

func (c *cluster) getPod(namespace, name string) *v1.Pod {
	c.Helper()
	pod, err := plane.Client.CoreV1().Pods(namespace).Get(c.ctx, name, metav1.GetOptions{})
	c.ok(err)
	return pod
}

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	return names
}

// amount asks for a resource as request and limit.
func amount(resource, quantity string) lab.PodOption {
	return func(p *v1.Pod) {
		lab.Request(resource, quantity)(p)
		lab.Limit(resource, quantity)(p)
	}
}
