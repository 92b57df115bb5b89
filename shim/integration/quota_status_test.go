package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"headroom.dev/shim/lab"
)

// used is status.used of a quota at that place, as "cpu 1, memory 2Gi"; "": there is none.
func (c *cluster) used(kind schema.GroupVersionResource, namespace, name string, place ...string) string {
	c.Helper()
	quota, err := plane.Dynamic.Resource(kind).Namespace(namespace).Get(c.ctx, name, metav1.GetOptions{})
	c.ok(err)
	amounts, _, err := unstructured.NestedMap(quota.Object, append([]string{"status", "used"}, place...)...)
	c.ok(err)
	var shown []string
	for name, amount := range amounts {
		quantity := resource.MustParse(fmt.Sprint(amount))
		shown = append(shown, name+" "+quantity.String())
	}
	slices.Sort(shown)
	return strings.Join(shown, ", ")
}

// willUse: a quota's status comes to that.
func (c *cluster) willUse(kind schema.GroupVersionResource, namespace, name, want string, place ...string) {
	c.Helper()
	c.ok(lab.Eventually(c.ctx, patience, func() error {
		if have := c.used(kind, namespace, name, place...); have != want {
			return fmt.Errorf("%s uses %q, should use %q", name, have, want)
		}
		return nil
	}))
}

// warned: an event with that reason is on the quota, and its note has these parts.
func (c *cluster) warned(namespace, name, reason string, parts ...string) {
	c.Helper()
	c.ok(lab.Eventually(c.ctx, patience, func() error {
		events, err := plane.Client.EventsV1().Events(namespace).List(c.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Name != name || event.Reason != reason || event.Type != v1.EventTypeWarning {
				continue
			}
			for _, part := range parts {
				if !strings.Contains(event.Note, part) {
					return fmt.Errorf("the event says %q, not %q", event.Note, part)
				}
			}
			return nil
		}
		return fmt.Errorf("no event %s of %s among %d", reason, name, len(events.Items))
	}))
}

// statusWrites are the times at which the status of a kind's objects changed, by name, until the test ends.
type statusWrites struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (c *cluster) watchStatuses(kind schema.GroupVersionResource) *statusWrites {
	c.Helper()
	writes := &statusWrites{at: map[string][]time.Time{}}
	ctx, cancel := context.WithCancel(c.ctx)
	watch, err := plane.Dynamic.Resource(kind).Watch(ctx, metav1.ListOptions{})
	c.ok(err)
	var reader sync.WaitGroup
	reader.Go(func() {
		shown := map[string]string{}
		for event := range watch.ResultChan() {
			quota, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			status := fmt.Sprint(quota.Object["status"])
			if before, known := shown[quota.GetName()]; known && before != status {
				writes.mu.Lock()
				writes.at[quota.GetName()] = append(writes.at[quota.GetName()], time.Now())
				writes.mu.Unlock()
			}
			shown[quota.GetName()] = status
		}
	})
	c.Cleanup(func() { watch.Stop(); cancel(); reader.Wait() })
	return writes
}

func (w *statusWrites) of(name string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.at[name])
}

// What kubectl shows of quotas follows pods and nodes, slowly, and only the leader writes it.
func TestAQuotasStatusFollowsPodsAndNodes(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1", lab.Allocatable("cpu", "16")))
	team := c.team("team", "cpu", "8", "16")
	const capacity = "nodes-of-test"
	c.ok(lab.CapacityQuota{Name: capacity, Limits: lab.Amounts{"cpu": "100", "nodes": "5"}}.Put(c.ctx, plane))
	s := withElasticQuotas
	s.leader = lab.FastLeaderElection(c.ns)
	c.start(s)
	writes := c.watchStatuses(lab.ElasticQuotas)

	t.Log("until a pod is scheduled nobody has led")
	time.Sleep(quiet)
	if have := c.used(lab.ElasticQuotas, team, "team"); have != "" {
		t.Errorf("a scheduler that has run no cycle wrote %q", have)
	}
	c.run(lab.Pod(team, "first", amount("cpu", "1")))
	c.willUse(lab.ElasticQuotas, team, "team", "cpu 1")
	c.willUse(lab.CapacityQuotas, "", capacity, "cpu 16, nodes 1", "resources")
	c.nodes(lab.Node("node2", lab.Allocatable("cpu", "8")))
	c.willUse(lab.CapacityQuotas, "", capacity, "cpu 24, nodes 2", "resources")

	t.Log("many pods, few writes")
	before := len(writes.of("team"))
	began := time.Now()
	for i, name := range numbered("p", 12) {
		c.pods(lab.Pod(team, name, amount("cpu", "500m")))
		c.boundIn(team, name)
		time.Sleep(100 * time.Millisecond)
		if i%4 == 3 {
			c.deletes(team, name)
		}
	}
	c.willUse(lab.ElasticQuotas, team, "team", "cpu 5500m")
	took := time.Since(began)
	if count := len(writes.of("team")) - before; count < 1 || count > int(took/time.Second)+1 {
		t.Errorf("%d writes within %v", count, took)
	}

	t.Log("pods that go give back what they used")
	for _, name := range numbered("p", 12) {
		if _, err := plane.Client.CoreV1().Pods(team).Get(c.ctx, name, metav1.GetOptions{}); err == nil {
			c.deletes(team, name)
		}
	}
	c.willUse(lab.ElasticQuotas, team, "team", "cpu 1")

	t.Log("a standby feeds a headroomd of its own, and writes nothing")
	leader, leading := c.daemon, c.scheduler
	c.startHeadroomd(s)
	c.startScheduler(s)
	c.awaitFed()
	c.daemon = leader
	leading.Kill()
	c.deletes(team, "first")
	time.Sleep(quiet)
	if have := c.used(lab.ElasticQuotas, team, "team"); have != "cpu 1" {
		t.Errorf("a standby wrote %q", have)
	}
	t.Log("it leads, and writes with its first cycle")
	c.run(lab.Pod(team, "last", amount("cpu", "2")))
	c.willUse(lab.ElasticQuotas, team, "team", "cpu 2")
}

// Who does not get what they wrote down hears of it.
func TestEventsOfQuotasThatCannotBeUsed(t *testing.T) {
	c := newCluster(t)
	c.nodes(lab.Node("node1"))
	team := c.team("team", "cpu", "2", "4")
	c.ok(lab.ElasticQuota{Namespace: team, Name: "team-too", Min: lab.Amounts{"cpu": "1"}, Max: lab.Amounts{"cpu": "1"}}.Put(c.ctx, plane))
	c.ok(lab.ElasticQuota{Namespace: c.ns, Name: "beyond", Min: lab.Amounts{"cpu": "1"}, Max: lab.Amounts{"cpu": "1E"}}.Put(c.ctx, plane))
	c.start(withElasticQuotas)
	c.run(lab.Pod(team, "first", amount("cpu", "1")))
	c.warned(team, "team-too", "QuotaIgnored", "ElasticQuota team counts")
	c.warned(c.ns, "beyond", "QuotaUnusable", "spec.max.cpu", "beyond int64")
}
