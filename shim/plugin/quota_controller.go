package plugin

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"headroom.dev/shim/client"
)

const (
	// A quota's status is written at most so often: quotas are looked at again so long after they were last.
	quotaInterval = time.Second
	// What the API server says of a quota is not asked for again before.
	quotaRetry = time.Minute
	// Of one question to headroomd, and of one write.
	quotaTimeout = 5 * time.Second
	// Writes go beside the scheduler's own requests, which they must not hold up.
	quotaWritesPerSecond = 50
	// By it the API server knows whose status.used is.
	quotaFieldManager = "headroom"
)

// quotaSource is what headroomd says of quotas.
type quotaSource interface {
	ElasticQuotas(context.Context) ([]client.ElasticQuotaState, error)
	CapacityQuotas(context.Context) ([]client.CapacityQuotaState, error)
}

// quotaController writes what headroomd counts of ElasticQuotas and CapacityQuotas into their status.used, and
// tells, by events, of those that cannot be used. Safe for concurrent use.
//
// Who writes? The scheduler that leads, from its first scheduling cycle on, which only the leader runs. One
// that loses its lease ends.
//
// It is level-triggered: after facts changed it asks headroomd for all quotas, and applies what differs from
// what the informers have. A field that another manager has written otherwise is left to that one.
type quotaController struct {
	source  quotaSource
	events  *quotaEvents
	leads   atomic.Bool // this scheduler has run a cycle
	changed atomic.Bool // since the last look

	mu       sync.Mutex
	followed map[client.Kind]followedQuotas

	// Of the one who runs: quotas that the API server refused to write, until when they are left alone.
	later   map[quotaKey]time.Time
	failing bool
}

// followedQuotas are those of an installed definition.
type followedQuotas struct {
	shown  cache.Store // as the API server has them
	writes dynamic.NamespaceableResourceInterface
}

// quotaKey names a quota of either kind.
type quotaKey struct {
	kind client.Kind
	key  string
}

func newQuotaController(source quotaSource, tell tellOf) *quotaController {
	return &quotaController{
		source:   source,
		events:   newQuotaEvents(tell),
		followed: map[client.Kind]followedQuotas{},
		later:    map[quotaKey]time.Time{},
	}
}

// quotaWriter is a client of the API server for the writes alone.
func quotaWriter(config *restclient.Config) (dynamic.Interface, error) {
	config = restclient.CopyConfig(config)
	config.RateLimiter = nil
	config.QPS, config.Burst = quotaWritesPerSecond, quotaWritesPerSecond
	config.Timeout = quotaTimeout
	return dynamic.NewForConfig(config)
}

func (q *quotaController) follow(kind client.Kind, shown cache.Store, writes dynamic.NamespaceableResourceInterface) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.followed[kind] = followedQuotas{shown, writes}
	q.notice()
}

func (q *quotaController) of(kind client.Kind) (followedQuotas, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	followed, installed := q.followed[kind]
	return followed, installed
}

// notice: facts changed, or what the API server has of a quota.
func (q *quotaController) notice() { q.changed.Store(true) }

// lead: this scheduler runs a scheduling cycle.
func (q *quotaController) lead() {
	if !q.leads.Load() {
		q.leads.Store(true)
		q.notice()
	}
}

// refused: headroomd cannot use that object.
func (q *quotaController) refused(kind client.Kind, key, why string) {
	of := quotaKey{kind, key}
	if quota := q.object(of); quota != nil {
		q.events.refused(of, quota, why)
		q.notice()
	}
}

func isQuota(kind client.Kind) bool {
	return kind == client.ElasticQuotas || kind == client.CapacityQuotas
}

// sameSpec: at most the status of the quota changed, which headroomd does not read.
func sameSpec(before, after any) bool {
	was, _ := before.(*unstructured.Unstructured)
	is, _ := after.(*unstructured.Unstructured)
	return was != nil && is != nil && specOf(was) == specOf(is)
}

// run writes until ctx ends.
func (q *quotaController) run(ctx context.Context) {
	wait.UntilWithContext(ctx, q.look, quotaInterval)
}

// look compares what headroomd counts with what the API server has.
func (q *quotaController) look(ctx context.Context) {
	if !q.leads.Load() || !q.changed.Swap(false) {
		return
	}
	logger := klog.FromContext(ctx)
	round := quotaRound{quotaController: q, waited: maps.Clone(q.later)}
	clear(q.later)
	complete := round.elasticQuotas(ctx) && round.capacityQuotas(ctx)
	q.events.tellRefused(q.object)
	q.events.forget(q.object)
	if !complete || len(q.later) > 0 {
		q.notice()
	}
	switch failing := round.failure != nil || len(q.later) > 0; {
	case round.failure != nil && !q.failing:
		q.failing = true
		logger.Error(round.failure, "The status of a quota cannot be written, which is tried again")
	case q.failing && complete && !failing:
		q.failing = false
		logger.Info("The status of all quotas is written again")
	}
}

// object of that key as the API server has it; nil: it has none.
func (q *quotaController) object(key quotaKey) *unstructured.Unstructured {
	followed, installed := q.of(key.kind)
	if !installed {
		return nil
	}
	object, exists, err := followed.shown.GetByKey(key.key)
	if err != nil || !exists {
		return nil
	}
	quota, _ := object.(*unstructured.Unstructured)
	return quota
}

// quotaRound is one look.
type quotaRound struct {
	*quotaController
	waited  map[quotaKey]time.Time // what `later` was
	failure error                  // the first of a write
}

// elasticQuotas is false where not all could be looked at.
func (r *quotaRound) elasticQuotas(ctx context.Context) bool {
	followed, installed := r.of(client.ElasticQuotas)
	if !installed {
		return true
	}
	states, err := r.source.ElasticQuotas(ctx)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("headroomd does not tell what ElasticQuotas use", "why", err)
		return false
	}
	counting := map[string]string{} // by namespace
	for i := range states {
		state := &states[i]
		counting[state.Namespace] = state.Name
		key := quotaKey{client.ElasticQuotas, state.Namespace + "/" + state.Name}
		quota := r.object(key)
		if quota == nil {
			continue
		}
		if why := minAboveMax(quota); why != "" {
			r.events.tell(key, quota, quotaMinAboveMax, why)
		}
		if !r.write(ctx, followed, key, quota, used(state.Amounts), "status", "used") {
			return false
		}
	}
	for _, object := range followed.shown.List() {
		quota, ok := object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		namespace := quota.GetNamespace()
		first := counting[namespace]
		if first == "" || first >= quota.GetName() || r.object(quotaKey{client.ElasticQuotas, namespace + "/" + first}) == nil {
			continue
		}
		r.events.tell(quotaKey{client.ElasticQuotas, namespace + "/" + quota.GetName()}, quota, quotaIgnored,
			fmt.Sprintf("The ElasticQuota %s counts in this namespace: it comes first by name", first))
	}
	return true
}

// capacityQuotas is false where not all could be looked at.
func (r *quotaRound) capacityQuotas(ctx context.Context) bool {
	followed, installed := r.of(client.CapacityQuotas)
	if !installed {
		return true
	}
	states, err := r.source.CapacityQuotas(ctx)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("headroomd does not tell what CapacityQuotas use", "why", err)
		return false
	}
	for i := range states {
		state := &states[i]
		key := quotaKey{client.CapacityQuotas, state.Name}
		quota := r.object(key)
		if quota == nil {
			continue
		}
		if state.Invalid != "" && state.Generation == quota.GetGeneration() {
			r.events.tell(key, quota, quotaUnusable, unusable(state.Invalid, state.InForce))
		}
		if state.InForce && !r.write(ctx, followed, key, quota, used(state.Amounts), "status", "used", "resources") {
			return false
		}
	}
	return true
}

// write applies the amounts at that place, where they are not there already; false where the API server
// cannot be asked. What it says of this quota alone keeps no other one waiting.
func (r *quotaRound) write(ctx context.Context, followed followedQuotas, key quotaKey, quota *unstructured.Unstructured,
	amounts map[string]any, place ...string) bool {
	if have, _, err := unstructured.NestedMap(quota.Object, place...); err == nil && sameAmounts(have, amounts) {
		return true
	}
	if until := r.waited[key]; time.Now().Before(until) {
		r.later[key] = until
		return true
	}
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(quota.GroupVersionKind())
	applied.SetNamespace(quota.GetNamespace())
	applied.SetName(quota.GetName())
	err := unstructured.SetNestedMap(applied.Object, amounts, place...)
	if err == nil {
		_, err = followed.writes.Namespace(quota.GetNamespace()).ApplyStatus(ctx, quota.GetName(), applied,
			metav1.ApplyOptions{FieldManager: quotaFieldManager})
	}
	if err == nil {
		quotaWrites.WithLabelValues("ok").Inc()
		return true
	}
	quotaWrites.WithLabelValues("failed").Inc()
	if r.failure == nil {
		r.failure = fmt.Errorf("%s %s: %w", quota.GetKind(), key.key, err)
	}
	if !isAboutTheQuota(err) {
		return false
	}
	r.later[key] = time.Now().Add(quotaRetry)
	return true
}

// isAboutTheQuota: the API server would say the same again. What it says of a conflict is whose field it is.
func isAboutTheQuota(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) ||
		apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}
