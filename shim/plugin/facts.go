package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
)

// customKinds are the custom resources that are facts. Each is fed once its definition is installed.
var customKinds = []struct {
	kind     client.Kind
	resource schema.GroupVersionResource
}{
	{client.NodeMetrics, schema.GroupVersionResource{Group: "slo.koordinator.sh", Version: "v1alpha1", Resource: "nodemetrics"}},
	{client.ElasticQuotas, schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "elasticquotas"}},
	{client.CapacityQuotas, schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacityquotas"}},
}

const (
	// customKindsAgain is how often definitions that were not installed are looked for,
	customKindsAgain = 30 * time.Second
	// and customKindsSoon, for followSync, where the API server could not say.
	customKindsSoon = time.Second
)

// facts keep headroomd equal to what the scheduler's informers have.
//
// Who feeds? A headroomd takes facts from one scheduler at a time, the last that began. Every
// scheduler feeds from its start, so that the headroomd beside a standby is ready when it is needed;
// one that was replaced stays silent until it runs a scheduling cycle, which only the leader does.
//
// Profiles of one scheduler that ask the same headroomd share its facts.
type facts struct {
	feeder        *client.Feeder
	pods          *nominations
	elasticQuotas elasticQuotas
	conflicts     *conflicts
	quotas        *quotaController
	referred      map[client.Kind]bool // that are followed of the kinds that nodes and pods refer to

	mu      sync.Mutex
	plugins []*Headroom
}

type factsKey struct {
	address client.Address
	factory informers.SharedInformerFactory
}

var (
	allFactsLock sync.Mutex
	allFacts     = map[factsKey]*facts{}
)

// factsFor are the scheduler's facts for that headroomd; h hears of them from now on.
func factsFor(ctx context.Context, handle fwk.Handle, address client.Address, h *Headroom) (*facts, error) {
	allFactsLock.Lock()
	defer allFactsLock.Unlock()
	key := factsKey{address, handle.SharedInformerFactory()}
	f := allFacts[key]
	if f == nil {
		var err error
		if f, err = feed(ctx, handle, address); err != nil {
			return nil, err
		}
		allFacts[key] = f
		context.AfterFunc(ctx, func() {
			allFactsLock.Lock()
			defer allFactsLock.Unlock()
			delete(allFacts, key)
		})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plugins = append(f.plugins, h)
	h.room.pods = f.pod
	h.gate.elasticQuotas = &f.elasticQuotas
	return f, nil
}

func (f *facts) eachPlugin(do func(*Headroom)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.plugins {
		do(h)
	}
}

// feed registers with the informers; feeding begins when they have synced.
func feed(ctx context.Context, handle fwk.Handle, address client.Address) (*facts, error) {
	shared := handle.SharedInformerFactory()
	logger := klog.FromContext(ctx)
	f := &facts{referred: map[client.Kind]bool{}, conflicts: newConflicts(handle.ClientSet())}
	// Nobody waits for its answers.
	f.quotas = newQuotaController(client.New(address, client.Options{
		Name: "kube-scheduler/" + handle.ProfileName() + "/quotas", Timeout: quotaTimeout, Poll: -1}), tellBy(handle))
	f.feeder = client.NewFeeder(address, client.FeederOptions{
		Options: client.Options{Name: "kube-scheduler/" + handle.ProfileName() + "/feeder"},
		OnReferredKinds: func(feeding context.Context, kinds []client.Kind) {
			f.followReferred(feeding, shared, kinds)
		},
		OnApplied: func(stats client.Stats) {
			if stats.Ready && !stats.Resyncing {
				fed.Set(1)
				if !f.feeder.ResyncWanted() {
					f.elasticQuotas.applied(f.feeder.Resyncs())
				}
			}
			f.eachPlugin(func(h *Headroom) { h.room.notice() })
			f.quotas.notice()
		},
		OnReplaced: func() { fed.Set(0) },
		OnDown: func(error) {
			fed.Set(0)
			f.eachPlugin(func(h *Headroom) { h.room.notice() })
		},
		OnRefused: func(kind client.Kind, key string, err *client.ServerError) {
			factsRefused.WithLabelValues(kind.String()).Inc()
			f.quotas.refused(kind, key, err.Message)
		},
	})
	pods := shared.Core().V1().Pods().Informer()
	f.pods = newNominations(pods.GetStore())
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: f.podShown,
		UpdateFunc: func(before, object any) {
			// A relist tells so of a pod that was deleted and made anew.
			if was, is := before.(*v1.Pod), object.(*v1.Pod); was.UID != is.UID {
				f.podGone(was)
			}
			f.podShown(object)
		},
		DeleteFunc: f.podGone,
	}); err != nil {
		return nil, fmt.Errorf("following pods: %w", err)
	}
	nodes := shared.Core().V1().Nodes().Informer()
	budgets := shared.Policy().V1().PodDisruptionBudgets().Informer()
	classes := shared.Scheduling().V1().PriorityClasses().Informer()
	var synced []cache.InformerSynced
	for _, of := range []struct {
		kind     client.Kind
		informer cache.SharedIndexInformer
		store    client.Store
	}{
		{client.Nodes, nodes, nodes.GetStore()},
		{client.Pods, pods, f.pods},
		{client.PodDisruptionBudgets, budgets, budgets.GetStore()},
		{client.PriorityClasses, classes, classes.GetStore()},
	} {
		registered, err := f.follow(of.kind, of.informer, of.store)
		if err != nil {
			return nil, err
		}
		synced = append(synced, registered)
	}
	go f.conflicts.run(ctx)
	go func() {
		if !cache.WaitForCacheSync(ctx.Done(), synced...) {
			return
		}
		if config := handle.KubeConfig(); config != nil {
			if err := f.followCustomKinds(ctx, config); err != nil {
				logger.Error(err, "Custom resources are not fed to headroomd")
			}
		} else {
			f.elasticQuotas.none()
		}
		f.feeder.Run(ctx)
	}()
	return f, nil
}

// follow marks what changes for the feeder, which reads it from the store.
func (f *facts) follow(kind client.Kind, informer cache.SharedIndexInformer, store client.Store) (cache.InformerSynced, error) {
	f.feeder.SetStore(kind, store)
	mark := func(object any) {
		key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
		if err == nil {
			f.feeder.Mark(kind, key)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: mark,
		UpdateFunc: func(before, object any) {
			if isQuota(kind) && sameSpec(before, object) {
				f.quotas.notice()
				return
			}
			if kind == client.Nodes && client.SameNode(before.(*v1.Node), object.(*v1.Node)) {
				return
			}
			mark(object)
		},
		DeleteFunc: mark,
	})
	if err != nil {
		return nil, fmt.Errorf("following %v: %w", kind, err)
	}
	return registration.HasSynced, nil
}

// podShown: the API server has the pod so.
func (f *facts) podShown(object any) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	f.pods.shown(pod)
	if pod.Spec.NodeName != "" {
		f.settled(pod.UID)
	}
}

func (f *facts) podGone(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if pod, ok := object.(*v1.Pod); ok {
		f.pods.drop(pod.UID)
		f.settled(pod.UID)
		if f.quotas.leads.Load() && f.schedules(pod) {
			f.conflicts.gone(pod)
		}
	}
}

// schedules tells whether the pod is of one of the profiles here.
func (f *facts) schedules(pod *v1.Pod) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.plugins, func(h *Headroom) bool { return h.handle.ProfileName() == pod.Spec.SchedulerName })
}

// nominate: the engine hears it before the API server does.
func (f *facts) nominate(pod *v1.Pod, node string) {
	if f.pods.set(pod, node) {
		f.feeder.Mark(client.Pods, keyOf(pod))
	}
}

// denominate: what the API server has holds again.
func (f *facts) denominate(pod *v1.Pod) {
	if f.pods.drop(pod.UID) {
		f.feeder.Mark(client.Pods, keyOf(pod))
	}
}

// settled: the pod is bound, as a fact shows, or gone.
func (f *facts) settled(uid types.UID) {
	f.eachPlugin(func(h *Headroom) {
		h.reserved.remove(uid)
		h.room.forget(uid)
	})
}

// pod as the API server has it; nil: it has none of that key.
func (f *facts) pod(key string) *v1.Pod {
	object, exists, err := f.pods.GetByKey(key)
	if err != nil || !exists {
		return nil
	}
	pod, _ := object.(*v1.Pod)
	return pod
}

// lead: this scheduler runs a scheduling cycle.
func (f *facts) lead() {
	f.feeder.TakeOver()
	f.quotas.lead()
}

// followCustomKinds follows those that are installed now, and the others from when they are. Returns
// when the former have synced.
func (f *facts) followCustomKinds(ctx context.Context, config *restclient.Config) error {
	config = restclient.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	definitions, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	statuses, err := quotaWriter(config)
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	missing := map[client.Kind]schema.GroupVersionResource{}
	for _, custom := range customKinds {
		missing[custom.kind] = custom.resource
	}
	absent := map[client.Kind]bool{} // of those that are missing; each is said once
	// True: of each it is known whether it is installed.
	look := func() bool {
		known := true
		for kind, resource := range missing {
			installed, err := isInstalled(definitions, resource)
			if err != nil {
				logger.Error(err, "Cannot tell whether a custom resource is installed", "resource", resource)
				known = false
				continue
			}
			if !installed {
				if !absent[kind] {
					logger.Info("A custom resource is not installed: headroomd decides without it", "resource", resource)
				}
				absent[kind] = true
				if kind == client.ElasticQuotas {
					f.elasticQuotas.none()
				}
			} else {
				logger.Info("Feeding a custom resource to headroomd", "resource", resource)
				delete(missing, kind)
				if err := f.followCustomKind(ctx, kind, resource, objects, statuses); err != nil {
					logger.Error(err, "Cannot follow a custom resource", "resource", resource)
				}
			}
		}
		return known
	}
	// What is not known yet is waited for: headroomd would decide as if there were none of them.
	_ = wait.PollUntilContextTimeout(ctx, customKindsSoon, followSync, true, func(context.Context) (bool, error) {
		return look(), nil
	})
	go f.quotas.run(ctx)
	if len(missing) > 0 {
		go func() {
			_ = wait.PollUntilContextCancel(ctx, customKindsAgain, false, func(context.Context) (bool, error) {
				_ = look()
				return len(missing) == 0, nil
			})
		}()
	}
	return nil
}

func isInstalled(definitions discovery.DiscoveryInterface, resource schema.GroupVersionResource) (bool, error) {
	list, err := definitions.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range list.APIResources {
		if list.APIResources[i].Name == resource.Resource {
			return true, nil
		}
	}
	return false, nil
}

// followSync is how long the first list of a custom resource may hold up the feeding.
const followSync = 30 * time.Second

func (f *facts) followCustomKind(ctx context.Context, kind client.Kind, resource schema.GroupVersionResource,
	objects, statuses dynamic.Interface) error {
	informer := dynamicinformer.NewFilteredDynamicInformer(objects, resource, v1.NamespaceAll, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil).Informer()
	if err := informer.SetTransform(withoutManagedFields); err != nil {
		return err
	}
	if isQuota(kind) {
		f.quotas.follow(kind, informer.GetStore(), statuses.Resource(resource))
	}
	resyncs := f.feeder.Resyncs() // without it
	synced, err := f.follow(kind, informer, informer.GetStore())
	if err != nil {
		return err
	}
	if kind == client.ElasticQuotas {
		f.elasticQuotas.follow(informer.GetIndexer(), informer.HasSynced, resyncs)
	}
	go informer.RunWithContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, followSync)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), synced) {
		return errors.New("no list within " + followSync.String())
	}
	return nil
}

func withoutManagedFields(object any) (any, error) {
	if custom, ok := object.(*unstructured.Unstructured); ok {
		custom.SetManagedFields(nil)
	}
	return object, nil
}
