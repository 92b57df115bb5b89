package plugin

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"headroom.dev/shim/client"
)

// referredSync is how long the first lists of kinds that nodes and pods refer to may hold up the feeding.
const referredSync = 30 * time.Second

// referredInformer is the scheduler's own; its default plugins watch the same kinds, so that most are there
// already.
func referredInformer(shared informers.SharedInformerFactory, kind client.Kind) cache.SharedIndexInformer {
	core, apps, storage := shared.Core().V1(), shared.Apps().V1(), shared.Storage().V1()
	switch kind {
	case client.Namespaces:
		return core.Namespaces().Informer()
	case client.Services:
		return core.Services().Informer()
	case client.ReplicationControllers:
		return core.ReplicationControllers().Informer()
	case client.ReplicaSets:
		return apps.ReplicaSets().Informer()
	case client.StatefulSets:
		return apps.StatefulSets().Informer()
	case client.PersistentVolumes:
		return core.PersistentVolumes().Informer()
	case client.PersistentVolumeClaims:
		return core.PersistentVolumeClaims().Informer()
	case client.StorageClasses:
		return storage.StorageClasses().Informer()
	case client.CSINodes:
		return storage.CSINodes().Informer()
	case client.CSIDrivers:
		return storage.CSIDrivers().Informer()
	case client.CSIStorageCapacities:
		return storage.CSIStorageCapacities().Informer()
	}
	return nil
}

// followReferred follows kinds that headroomd's profile reads, each once, and returns when they have synced or
// took too long: then headroomd decides without what is missing until it comes. The feeder's goroutine calls it.
func (f *facts) followReferred(ctx context.Context, shared informers.SharedInformerFactory, kinds []client.Kind) {
	logger := klog.FromContext(ctx)
	synced := map[client.Kind]cache.InformerSynced{}
	for _, kind := range kinds {
		if f.referred[kind] {
			continue
		}
		informer := referredInformer(shared, kind)
		if informer == nil {
			continue
		}
		registered, err := f.follow(kind, informer, informer.GetStore())
		if err != nil {
			logger.Error(err, "Objects that pods refer to are not fed to headroomd", "kind", kind)
			continue
		}
		f.referred[kind] = true
		synced[kind] = registered
	}
	if len(synced) == 0 {
		return
	}
	shared.Start(ctx.Done())
	waiting, cancel := context.WithTimeout(ctx, referredSync)
	defer cancel()
	for kind, has := range synced {
		if !cache.WaitForCacheSync(waiting.Done(), has) && ctx.Err() == nil {
			logger.Error(nil, "No list within the time: headroomd decides without these objects until it comes",
				"kind", kind, "time", referredSync)
		}
	}
}
