package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

const (
	podsTarget = 1.0
	// everyNodeMax: above it, scoring every node takes stock minutes.
	everyNodeMax = 5_000

	boundInterval = 100 * time.Millisecond
	boundPatience = 20 * time.Minute
)

// podsVariants are who schedules.
var podsVariants = []string{"stock", "stock_all", "headroom_1", "headroom_16", "headroom_16_lean", "headroom_1_lean"}

// podsEndToEnd: a real control plane, one scheduler after the other on the same nodes.
func podsEndToEnd(ctx context.Context, o options) (*table, error) {
	t := &table{Name: "pods", What: fmt.Sprintf("end to end with etcd and kube-apiserver on the same processors: %d pods of "+
		"%d shapes, created by 32 workers while the scheduler runs, until all are bound. Processor ms a pod, less what was "+
		"used until a first pod was bound; memory in MB at its peak", o.pods, shapesMax),
		Columns: []string{"nodes", "scheduler", "scheduler CPU", "headroomd CPU", "both", "pods a second", "memory",
			"headroomd memory", "target"}}
	for _, nodes := range o.endToEnd {
		if err := endToEnd(ctx, o, nodes, t); err != nil {
			return t, err
		}
	}
	return t, nil
}

func endToEnd(ctx context.Context, o options, nodes int, t *table) (err error) {
	l, err := lab.New()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, l.Logs())
		}
		err = errors.Join(err, l.Close())
	}()
	plane, err := l.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	c := newCluster(o.seed, nodes, 0)
	for _, node := range c.nodes {
		node.ResourceVersion, node.UID = "", ""
	}
	if err := plane.CreateNodes(ctx, c.nodes...); err != nil {
		return err
	}
	if err := c.putMetrics(ctx, plane); err != nil {
		return err
	}
	for _, name := range podsVariants {
		v, err := findVariant(name)
		if err != nil {
			return err
		}
		if !o.wants(v) || v.everyNode && nodes > everyNodeMax {
			continue
		}
		used, err := scheduleAll(ctx, l, plane, v, c, newPods(o.seed, o.pods+1, shapesMax))
		if err != nil {
			return fmt.Errorf("%s, %d nodes: %w", v.name, nodes, err)
		}
		pods := float64(o.pods)
		own, daemons := milliseconds(used.scheduler.CPU)/pods, milliseconds(used.daemon.CPU)/pods
		verdict := ""
		if v.topK > 0 {
			verdict = target(own+daemons, podsTarget)
		}
		t.add(nodes, v.what, own, daemons, own+daemons, pods/used.took.Seconds(), float64(used.scheduler.PeakRSS>>20),
			float64(used.daemon.PeakRSS>>20), verdict)
		fmt.Fprintln(os.Stderr, t.Rows[len(t.Rows)-1])
	}
	return nil
}

// usage of one scheduler, and how long it took.
type usage struct {
	scheduler, daemon lab.Usage
	took              time.Duration
}

// scheduleAll has the pods bound by one scheduler, and deletes them. The first is not measured.
func scheduleAll(ctx context.Context, l *lab.Lab, plane *lab.ControlPlane, v variant, c *cluster, pods []*v1.Pod) (used usage, err error) {
	space := "bench-" + fmt.Sprint(time.Now().UnixNano())
	if err := plane.CreateNamespaces(ctx, space); err != nil {
		return used, err
	}
	for _, pod := range pods {
		pod.Namespace, pod.ResourceVersion, pod.UID = space, "", ""
	}
	r, err := startRunner(ctx, l, plane, v)
	defer r.stop(l)
	if err != nil {
		return used, err
	}
	if err := plane.CreatePods(ctx, pods[0]); err != nil {
		return used, err
	}
	if err := awaitBound(ctx, plane, space); err != nil {
		return used, err
	}
	before, err := r.usage()
	if err != nil {
		return used, err
	}
	begin := time.Now()
	if err := plane.CreatePods(ctx, pods[1:]...); err != nil {
		return used, err
	}
	if err := awaitBound(ctx, plane, space); err != nil {
		return used, err
	}
	used, err = r.usage()
	if err != nil {
		return used, err
	}
	used.took = time.Since(begin)
	used.scheduler.CPU -= before.scheduler.CPU
	used.daemon.CPU -= before.daemon.CPU
	return used, checkAndClear(ctx, plane, space, c, pods)
}

// runner is a scheduler, and headroomd where it needs one.
type runner struct {
	scheduler *lab.Scheduler
	daemon    *lab.Headroomd
}

func startRunner(ctx context.Context, l *lab.Lab, plane *lab.ControlPlane, v variant) (r runner, err error) {
	address := ""
	if v.topK > 0 {
		if r.daemon, err = startDaemon(ctx, l, v.engine, besideScheduler...); err != nil {
			return r, err
		}
		address = r.daemon.Address
	}
	r.scheduler, err = l.StartScheduler(ctx, plane, lab.SchedulerOptions{Stock: v.topK == 0,
		Config: lab.SchedulerConfig{Profiles: []lab.SchedulerProfile{v.schedulerProfile(address)},
			PercentageOfNodesToScore: v.percentage()}})
	if err != nil || r.daemon == nil {
		return r, err
	}
	return r, lab.Eventually(ctx, feedPatience, func() error { return r.daemon.Ready(ctx) })
}

func (r runner) usage() (u usage, err error) {
	if u.scheduler, err = r.scheduler.Usage(); err != nil || r.daemon == nil {
		return u, err
	}
	u.daemon, err = r.daemon.Usage()
	return u, err
}

func (r runner) stop(l *lab.Lab) {
	if r.scheduler != nil {
		l.Forget(r.scheduler.Process)
	}
	if r.daemon != nil {
		l.Forget(r.daemon.Process)
	}
}

// awaitBound asks for the pods without a node only: listing all would be the API server's main work.
func awaitBound(ctx context.Context, plane *lab.ControlPlane, space string) error {
	for deadline := time.Now().Add(boundPatience); ; time.Sleep(boundInterval) {
		waiting, err := plane.Client.CoreV1().Pods(space).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=", Limit: 1})
		if err != nil {
			return err
		}
		if len(waiting.Items) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has no node after %v: %s", waiting.Items[0].Name, boundPatience, lab.Message(&waiting.Items[0]))
		}
	}
}

// checkAndClear: all pods are there, on nodes with room for them.
func checkAndClear(ctx context.Context, plane *lab.ControlPlane, space string, c *cluster, pods []*v1.Pod) error {
	stored, err := plane.Pods(ctx, space)
	if err != nil {
		return err
	}
	bound := map[string]string{}
	for i := range stored {
		bound[stored[i].Name] = stored[i].Spec.NodeName
	}
	if err := checkRoom(c, pods, bound); err != nil {
		return err
	}
	if err := plane.Client.CoreV1().Pods(space).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{}); err != nil {
		return err
	}
	return lab.Eventually(ctx, time.Minute, func() error {
		left, err := plane.Client.CoreV1().Pods(space).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%s is still there", left.Items[0].Name)
		}
		return err
	})
}

// putMetrics in parallel, as a cluster's koordlets do.
func (c *cluster) putMetrics(ctx context.Context, plane *lab.ControlPlane) error {
	const workers = 16
	failed := make(chan error, workers)
	for w := range workers {
		go func() {
			for i := w; i < len(c.metrics); i += workers {
				metric := c.metrics[i].DeepCopy()
				metric.SetResourceVersion("")
				if err := plane.Put(ctx, lab.NodeMetrics, metric); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	var err error
	for range workers {
		err = errors.Join(err, <-failed)
	}
	return err
}
