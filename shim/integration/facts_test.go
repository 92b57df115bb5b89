package integration

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/tools/cache"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

// facts feed a headroomd with what the API server has, when the test says so: after put and refresh it has
// applied it. So a test knows the state that a decision is made in. One goroutine uses them.
type facts struct {
	*cluster
	feeder  *client.Feeder
	stores  map[client.Kind]cache.Store
	applied chan client.Stats
	stop    context.CancelFunc
	stopped chan struct{}
}

// listed are the kinds that kube-scheduler's default profile reads, and how the API server tells them.
var listed = map[client.Kind]func(context.Context) (runtime.Object, error){
	client.Nodes: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	},
	client.Pods: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.CoreV1().Pods(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	},
	client.PodDisruptionBudgets: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.PolicyV1().PodDisruptionBudgets(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	},
	client.PriorityClasses: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.SchedulingV1().PriorityClasses().List(ctx, metav1.ListOptions{})
	},
	client.Namespaces: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	},
	client.Services: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.CoreV1().Services(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	},
	client.ReplicaSets: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.AppsV1().ReplicaSets(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	},
	client.PersistentVolumes: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	},
	client.PersistentVolumeClaims: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.CoreV1().PersistentVolumeClaims(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	},
	client.StorageClasses: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	},
	client.CSINodes: func(ctx context.Context) (runtime.Object, error) {
		return plane.Client.StorageV1().CSINodes().List(ctx, metav1.ListOptions{})
	},
}

const defaultProfileFormat = `apiVersion: headroom/v1alpha1
kind: HeadroomConfiguration
profile: default
kubernetesVersion: "%d.%d"
`

// kubernetesVersion is that of the control plane.
func (c *cluster) kubernetesVersion() *version.Version {
	c.Helper()
	server, err := plane.Client.Discovery().ServerVersion()
	c.ok(err)
	parsed, err := version.ParseSemantic(server.GitVersion)
	c.ok(err)
	return parsed
}

// startDefaultProfile starts headroomd with the default profile of this control plane's kube-scheduler.
// Nobody feeds it.
func (c *cluster) startDefaultProfile() *client.Client {
	c.Helper()
	c.needsHeadroom()
	kubernetes := c.kubernetesVersion()
	profile := fmt.Sprintf(defaultProfileFormat, kubernetes.Major(), kubernetes.Minor())
	var err error
	c.daemon, err = world.StartHeadroomd(c.ctx, lab.HeadroomdOptions{Profile: profile})
	c.ok(err)
	c.own(c.daemon.Process)
	engine := client.New(c.address(), client.Options{Name: "integration", Timeout: patience})
	c.Cleanup(func() { engine.Close() })
	return engine
}

func (c *cluster) address() client.Address {
	c.Helper()
	address, err := client.ParseAddress(c.daemon.Address)
	c.ok(err)
	return address
}

// feed headroomd with all that the API server has now.
func (c *cluster) feed() *facts {
	c.Helper()
	f := &facts{cluster: c, stores: map[client.Kind]cache.Store{}, applied: make(chan client.Stats, 1),
		stopped: make(chan struct{})}
	f.feeder = client.NewFeeder(c.address(), client.FeederOptions{
		Options:   client.Options{Name: "integration/feeder"},
		OnApplied: func(stats client.Stats) { f.applied <- stats },
		OnRefused: func(kind client.Kind, key string, err *client.ServerError) { c.Errorf("%v %s: %v", kind, key, err) },
	})
	for kind := range listed {
		f.stores[kind] = cache.NewStore(cache.MetaNamespaceKeyFunc)
		f.list(kind, func(object metav1.Object) { c.ok(f.stores[kind].Add(object)) })
		f.feeder.SetStore(kind, f.stores[kind])
	}
	ctx, cancel := context.WithCancel(c.ctx)
	f.stop = cancel
	go func() {
		defer close(f.stopped)
		f.feeder.Run(ctx)
	}()
	c.Cleanup(f.end)
	if stats := f.await(); !stats.Ready {
		c.Fatalf("fed, but not ready: %+v", stats)
	}
	return f
}

// end the feeding; headroomd keeps what it has.
func (f *facts) end() {
	f.stop()
	<-f.stopped
}

func (f *facts) await() client.Stats {
	f.Helper()
	select {
	case stats := <-f.applied:
		return stats
	case <-time.After(patience):
		f.Fatal("headroomd has not applied what it was fed")
		return client.Stats{}
	}
}

func (f *facts) list(kind client.Kind, each func(metav1.Object)) {
	f.Helper()
	list, err := listed[kind](f.ctx)
	f.ok(err, meta.EachListItem(list, func(item runtime.Object) error {
		each(item.(metav1.Object))
		return nil
	}))
}

// put one object as it is now.
func (f *facts) put(kind client.Kind, object metav1.Object) {
	f.Helper()
	f.ok(f.stores[kind].Add(object))
	f.mark(kind, object)
}

// remove one object.
func (f *facts) remove(kind client.Kind, object metav1.Object) {
	f.Helper()
	f.ok(f.stores[kind].Delete(object))
	f.mark(kind, object)
}

// mark waits for it: nothing else is under way, so that the next that is applied is this.
func (f *facts) mark(kind client.Kind, object metav1.Object) {
	f.Helper()
	key, err := cache.MetaNamespaceKeyFunc(object)
	f.ok(err)
	f.feeder.Mark(kind, key)
	f.await()
}

// refresh puts those of a kind that have changed.
func (f *facts) refresh(kind client.Kind) {
	f.Helper()
	f.list(kind, func(object metav1.Object) {
		known, exists, err := f.stores[kind].Get(object)
		f.ok(err)
		if !exists || known.(metav1.Object).GetResourceVersion() != object.GetResourceVersion() {
			f.put(kind, object)
		}
	})
}
