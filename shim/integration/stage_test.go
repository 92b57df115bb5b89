package integration

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
	"headroom.dev/shim/lab/check"
)

// stage is where scenarios are played: a cluster in which both schedulers run, each for pods of its name.
type stage struct {
	*cluster
	headroomd *client.Client
	played    int

	name     string // of the scheduler: its pods' spec.schedulerName
	headroom bool
	ns       string     // of the scenario
	away     chan error // of headroomd, where a scenario has it away: closed when it is back
}

const (
	// The schedulers hear of what was created.
	arrival = 200 * time.Millisecond
	// All that have a place have it by then.
	placedWithin = 10 * time.Second
	// After so long without a change nothing more is expected where pods have no place.
	settled = 3 * time.Second
)

// play the scenario from an empty cluster.
func (s *stage) play(of *scenario) outcome {
	s.Helper()
	s.played++
	s.ns = fmt.Sprintf("%s-%d", s.name, s.played)
	s.ok(plane.Clear(s.ctx), plane.CreateNamespaces(s.ctx, s.ns))
	s.arrive(0, 0)
	s.nodes(of.nodes...)
	var objects []metav1.Object
	if of.objects != nil {
		objects = of.objects(s.ns)
	}
	var running []*v1.Pod
	if of.running != nil {
		running = of.running(s.ns)
	}
	if of.quota != nil {
		quota := *of.quota
		quota.Namespace = s.ns
		s.ok(quota.Put(s.ctx, plane))
	}
	s.ok(plane.CreateObjects(s.ctx, objects...), plane.BindClaims(s.ctx), plane.CreatePods(s.ctx, running...))
	s.arrive(len(of.nodes), len(running))
	before, err := plane.Pods(s.ctx, s.ns)
	s.ok(err)
	pods, began := of.pods(s.ns), time.Now()
	for i, pod := range pods {
		if i == len(pods)/2 && of.midway != nil {
			of.midway(s)
		}
		pod.Spec.SchedulerName = s.name
		s.ok(plane.CreatePods(s.ctx, pod))
	}
	if of.later != nil {
		of.later(s)
	}
	result := outcome{pods: len(pods), took: s.settle(pods, of.pending, began)}
	if s.away != nil {
		s.ok(<-s.away)
		s.away = nil
	}
	s.measure(of, objects, before, pods, &result)
	return result
}

// arrive waits until headroomd knows so many nodes and pods, and a while for the schedulers.
func (s *stage) arrive(nodes, pods int) {
	s.Helper()
	time.Sleep(arrival)
	s.ok(lab.Eventually(s.ctx, patience, func() error {
		stats, err := s.headroomd.Stats(s.ctx, client.StatsOptions{})
		if err == nil && (stats.Nodes != nodes || stats.Pods != pods) {
			err = fmt.Errorf("headroomd knows %d nodes and %d pods, not %d and %d", stats.Nodes, stats.Pods, nodes, pods)
		}
		return err
	}))
}

// settle waits until all pods that have a place have a node, and returns when the last got it.
func (s *stage) settle(pods []*v1.Pod, pending int, began time.Time) time.Duration {
	s.Helper()
	placed, existing, changed := 0, 0, time.Now()
	for end := time.Now().Add(placedWithin); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s.ok(plane.BindClaims(s.ctx))
		found, err := plane.Pods(s.ctx, s.ns)
		s.ok(err)
		now := len(s.placed(found, pods))
		if now != placed || len(found) != existing {
			placed, existing, changed = now, len(found), time.Now()
		}
		if placed >= len(pods)-pending && (pending == 0 || time.Since(changed) > settled) {
			break
		}
	}
	return changed.Sub(began)
}

// placed are those of the pods that have a node, as the API server has them.
func (s *stage) placed(found []v1.Pod, pods []*v1.Pod) []*v1.Pod {
	var placed []*v1.Pod
	for i := range found {
		ours := slices.ContainsFunc(pods, func(p *v1.Pod) bool { return p.Name == found[i].Name })
		if ours && found[i].Spec.NodeName != "" {
			placed = append(placed, &found[i])
		}
	}
	return placed
}

// measure what the pods' places came to, and what became of those that ran before.
func (s *stage) measure(of *scenario, objects []metav1.Object, before []v1.Pod, pods []*v1.Pod, result *outcome) {
	s.Helper()
	found, err := plane.Pods(s.ctx, s.ns)
	s.ok(err)
	placed := s.placed(found, pods)
	result.placed = len(placed)
	result.measureSkew(of, placed)
	result.measurePreferences(of, placed, found)
	victims := slices.DeleteFunc(before, func(ran v1.Pod) bool {
		return slices.ContainsFunc(found, func(p v1.Pod) bool { return p.Name == ran.Name && p.DeletionTimestamp == nil })
	})
	result.measureVictims(victims, objects)
	s.created = nil
	for _, pod := range pods {
		s.created = append(s.created, check.Name{Namespace: s.ns, Name: pod.Name})
	}
	if found := check.Check(s.list(check.Rules{ElasticQuotas: of.quota != nil})); len(found) > 0 {
		s.Errorf("%s, with %s:\n%s", of.name, s.name, check.Text(found[:min(len(found), toldMax)]))
	}
	if result.placed < len(pods)-of.pending {
		for i := range found {
			if found[i].Spec.NodeName == "" {
				result.why = append(result.why, found[i].Name+": "+lab.Message(&found[i]))
			}
		}
	}
}
