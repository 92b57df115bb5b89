package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"headroom.dev/shim/deferred"
	"headroom.dev/shim/lab"
	"headroom.dev/shim/plugin"
)

// feedPatience is how long headroomd may take to get all facts.
const feedPatience = 2 * time.Minute

// harness is a kube-scheduler in this process, without an API server: informers over memory, and a Bind
// that does nothing. The pods wait in its queue. Not safe for concurrent use.
type harness struct {
	sched *scheduler.Scheduler
	// Called in the cycle when the node has been chosen and before it is reserved; nil: not.
	decided func(ctx context.Context, pod *v1.Pod, node string) error

	daemon *lab.Headroomd // nil: stock
	stop   []func()

	mutex    sync.Mutex
	bound    map[string]string // pod: node
	failures []error
}

// noBind is the Bind plugin: the pods are where the scheduler wants them.
const noBind = "NoBind"

func (h *harness) Name() string { return noBind }

func (h *harness) Bind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.bound[pod.Name] = node
	return nil
}

func (h *harness) fail(err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.failures = append(h.failures, err)
}

// newHarness is ready to schedule the pods: caches are full, and headroomd is fed. Close it.
func newHarness(ctx context.Context, l *lab.Lab, v variant, c *cluster, pods []*v1.Pod) (*harness, error) {
	ctx, cancel := context.WithCancel(ctx)
	h := &harness{bound: map[string]string{}, stop: []func(){cancel}}
	if err := h.start(ctx, l, v, c, pods); err != nil {
		return nil, errors.Join(err, h.close(l))
	}
	return h, nil
}

func (h *harness) start(ctx context.Context, l *lab.Lab, v variant, c *cluster, pods []*v1.Pod) error {
	var kubeconfig *rest.Config
	address := ""
	if v.topK > 0 {
		api, config, err := newMetricsAPI(c.metrics)
		if err != nil {
			return err
		}
		// After ctx has ended, and with it the watches.
		h.stop = append(h.stop, func() { api.CloseClientConnections(); api.Close() })
		kubeconfig = config
		if h.daemon, err = startDaemon(ctx, l, v.engine, besideScheduler...); err != nil {
			return err
		}
		address = h.daemon.Address
	}
	profile, err := v.configuration(address)
	if err != nil {
		return err
	}
	registry := frameworkruntime.Registry{plugin.Name: plugin.New,
		deferred.PodTopologySpread: deferred.NewPodTopologySpread, deferred.InterPodAffinity: deferred.NewInterPodAffinity,
		noBind: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return h, nil },
		namesPlugin: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return &names{nodes: c.nodes, count: v.names}, nil
		},
	}
	percentage := int32(v.percentage())
	client, factory := newInformers(c.nodes, append(c.running[:len(c.running):len(c.running)], pods...))
	recorders := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	h.sched, err = scheduler.New(ctx, client, factory, nil, recorders, scheduler.WithProfiles(profile),
		scheduler.WithFrameworkOutOfTreeRegistry(registry), scheduler.WithKubeConfig(kubeconfig),
		scheduler.WithPercentageOfNodesToScore(&percentage))
	if err != nil {
		return err
	}
	h.watch()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := h.sched.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	if h.daemon == nil {
		return nil
	}
	return lab.Eventually(ctx, feedPatience, func() error { return h.daemon.Ready(ctx) })
}

// besideScheduler is how the chart runs headroomd: where a scheduler waits for one answer a cycle,
// polling takes more from it than the wake-up does.
var besideScheduler = []string{"--busy-poll-us", "0"}

// startDaemon with these score plugins; nil: its standard profile.
func startDaemon(ctx context.Context, l *lab.Lab, scores []lab.Plugin, flags ...string) (*lab.Headroomd, error) {
	profile, err := engineProfile(scores)
	if err != nil {
		return nil, err
	}
	return l.StartHeadroomd(ctx, lab.HeadroomdOptions{Profile: profile, Args: flags})
}

// configuration is the profile with the Bind that does nothing.
func (v variant) configuration(address string) (config.KubeSchedulerProfile, error) {
	profile := v.schedulerProfile(address)
	profile.Plugins["bind"] = lab.PluginSet{Enabled: lab.Plugins(noBind), Disabled: lab.Plugins("DefaultBinder")}
	return decoded(profile)
}

// watch has the scheduler tell what it decides, and what it cannot.
func (h *harness) watch() {
	decide := h.sched.SchedulePod
	h.sched.SchedulePod = func(ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		result, err := decide(ctx, f, state, info)
		if err == nil && h.decided != nil {
			if err := h.decided(ctx, info.Pod, result.SuggestedHost); err != nil {
				h.fail(fmt.Errorf("pod %s: %w", info.Pod.Name, err))
			}
		}
		return result, err
	}
	h.sched.FailureHandler = func(_ context.Context, _ framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, _ *fwk.NominatingInfo, _ time.Time) {
		h.fail(fmt.Errorf("pod %s: %s", info.Pod.Name, status.Message()))
		h.sched.SchedulingQueue.Done(info.Pod.UID)
	}
}

// cycle schedules the next pod. From here to its return is one scheduling cycle: the pod is taken from
// the queue, the snapshot brought up to date, a node chosen, the pod assumed and reserved there; binding
// has been handed to another goroutine.
func (h *harness) cycle(ctx context.Context) time.Duration {
	begin := time.Now()
	h.sched.ScheduleOne(ctx)
	return time.Since(begin)
}

// settle waits until all pods of so many cycles are bound. The error is the first that came up.
func (h *harness) settle(ctx context.Context, pods int) error {
	return lab.Eventually(ctx, 10*time.Second, func() error {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if len(h.failures) > 0 {
			return fmt.Errorf("%d failures: %w", len(h.failures), h.failures[0])
		}
		if len(h.bound) != pods {
			return fmt.Errorf("%d of %d pods are bound", len(h.bound), pods)
		}
		return nil
	})
}

func (h *harness) close(l *lab.Lab) error {
	for _, stop := range h.stop {
		stop()
	}
	if h.daemon != nil {
		l.Forget(h.daemon.Process)
	}
	return nil
}
