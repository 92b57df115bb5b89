package plugin

import (
	"sync"

	"k8s.io/client-go/tools/cache"
)

// elasticQuotas are the namespaces that have an ElasticQuota, as the informer that feeds them shows. They
// are known while headroomd is away. Safe for concurrent use.
type elasticQuotas struct {
	mu     sync.Mutex
	absent bool          // there are none: the definition is not installed
	byName cache.Indexer // with cache.NamespaceIndex; nil: not known
	synced cache.InformerSynced
	after  uint64 // so many resyncs, the next one tells headroomd of them;
	fed    bool   // it has
}

// none: the definition of ElasticQuotas is not installed.
func (q *elasticQuotas) none() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.absent = true
}

// follow reads them from an informer's store from now on, of which none of so many resyncs has told headroomd.
func (q *elasticQuotas) follow(byName cache.Indexer, synced cache.InformerSynced, resyncs uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byName, q.synced, q.after = byName, synced, resyncs
}

// applied: headroomd has what so many resyncs said, the last of them of all stores, and what came since.
func (q *elasticQuotas) applied(resyncs uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fed = q.fed || q.byName != nil && resyncs > q.after && q.synced()
}

// awaited: the namespace has a quota, or may have one, and headroomd may not know it yet.
func (q *elasticQuotas) awaited(namespace string) bool {
	q.mu.Lock()
	fed := q.fed
	q.mu.Unlock()
	return !fed && q.rule(namespace)
}

// rule tells whether the namespace has a quota. Until that is known it may have one.
func (q *elasticQuotas) rule(namespace string) bool {
	q.mu.Lock()
	byName, synced, absent := q.byName, q.synced, q.absent
	q.mu.Unlock()
	if byName == nil {
		return !absent
	}
	if !synced() {
		return true
	}
	keys, err := byName.IndexKeys(cache.NamespaceIndex, namespace)
	return err != nil || len(keys) > 0
}
