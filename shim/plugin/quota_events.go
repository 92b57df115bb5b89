package plugin

import (
	"fmt"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	fwk "k8s.io/kube-scheduler/framework"
)

// Reasons of the events of quotas.
const (
	quotaUnusable    = "QuotaUnusable"    // headroomd cannot use the spec
	quotaMinAboveMax = "QuotaMinAboveMax" // what is guaranteed is not allowed
	quotaIgnored     = "QuotaIgnored"     // another quota counts
)

const (
	// Complaints that are remembered, so that each is told once.
	quotaEventsKept = 1024
	// Of an event's note, as the API server takes it.
	noteBytesMax = 1024
)

// tellOf makes an event of type Warning on a quota.
type tellOf func(quota *unstructured.Unstructured, reason, note string)

// tellBy is the framework's recorder.
func tellBy(handle fwk.Handle) tellOf {
	return func(quota *unstructured.Unstructured, reason, note string) {
		handle.EventRecorder().Eventf(quota, nil, v1.EventTypeWarning, reason, "Counting", "%s", note)
	}
}

// quotaEvents tell of quotas that cannot be used, or not as they are meant: once for each spec. Only refused
// may be called by another goroutine than the one who tells.
type quotaEvents struct {
	event tellOf
	told  map[complaint]toldQuota

	mu      sync.Mutex
	pending map[quotaKey]refusedQuota
}

// complaint is what may be wrong with a quota.
type complaint struct {
	quota  quotaKey
	reason string
}

// toldQuota is a spec that an event told of, and its note.
type toldQuota struct{ spec, note string }

// refusedQuota is a spec that headroomd refused, and why.
type refusedQuota struct{ spec, why string }

func newQuotaEvents(event tellOf) *quotaEvents {
	return &quotaEvents{event: event, told: map[complaint]toldQuota{}, pending: map[quotaKey]refusedQuota{}}
}

// refused is told when this scheduler leads. What does not fit is refused again with the next resync.
func (e *quotaEvents) refused(key quotaKey, quota *unstructured.Unstructured, why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.pending) < quotaEventsKept {
		e.pending[key] = refusedQuota{specOf(quota), why}
	}
}

// tellRefused tells of quotas that are still there with that spec.
func (e *quotaEvents) tellRefused(object func(quotaKey) *unstructured.Unstructured) {
	e.mu.Lock()
	pending := e.pending
	e.pending = map[quotaKey]refusedQuota{}
	e.mu.Unlock()
	for key, refused := range pending {
		if quota := object(key); quota != nil && specOf(quota) == refused.spec {
			e.tell(key, quota, quotaUnusable, refused.why+". What it limited before, if anything, stays in force")
		}
	}
}

// specOf names the spec that a quota has now.
func specOf(quota *unstructured.Unstructured) string {
	return fmt.Sprintf("%s/%d", quota.GetUID(), quota.GetGeneration())
}

// unusable is the note about a spec of which headroomd says why it cannot be used.
func unusable(why string, inForce bool) string {
	if inForce {
		return why + ". The last spec that could be used stays in force"
	}
	return why + ". It limits nothing"
}

// tell makes the event, unless it was told of that spec already. Beyond quotaEventsKept nobody is told before
// others are forgotten.
func (e *quotaEvents) tell(key quotaKey, quota *unstructured.Unstructured, reason, note string) {
	about, now := complaint{key, reason}, toldQuota{specOf(quota), note}
	before, known := e.told[about]
	if before == now || !known && len(e.told) >= quotaEventsKept {
		return
	}
	e.told[about] = now
	if len(note) > noteBytesMax {
		note = strings.ToValidUTF8(note[:noteBytesMax], "")
	}
	e.event(quota, reason, note)
}

// forget what was told of specs that are no more.
func (e *quotaEvents) forget(object func(quotaKey) *unstructured.Unstructured) {
	for about, told := range e.told {
		if quota := object(about.quota); quota == nil || specOf(quota) != told.spec {
			delete(e.told, about)
		}
	}
}
