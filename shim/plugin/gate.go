package plugin

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/wire"
)

const (
	// feedGrace is how long pods wait for a headroomd that is reachable but has not got all facts yet,
	// whatever onUnavailable says: a feed takes seconds.
	feedGrace = 30 * time.Second
	// feedLook is how often a nominated pod's cycle looks whether that is over.
	feedLook = 10 * time.Millisecond
)

// gate says who may pass while headroomd cannot be asked. Safe for concurrent use.
//
//   - Nobody where onUnavailable is Wait, and while headroomd is being fed.
//   - No pod of a namespace that has an ElasticQuota where onUnavailableQuotas is Wait.
//   - Where it is Skip, pods that headroomd has not turned away. Those that it has stay in the waiting room
//     for the grace period, and are released one by one after it: a restart opens no gate, and an
//     outage opens it slowly, with an event on each pod.
type gate struct {
	args          HeadroomArgs
	elasticQuotas *elasticQuotas
	// nil: headroomd is fed.
	unfed atomic.Pointer[unfed]
}

// unfed is when a headroomd was first found reachable but not fed.
type unfed struct {
	incarnation uint64
	since       time.Time
}

var (
	errNotFed        = errors.New("headroomd has not got the cluster's facts yet")
	errQuotasUnknown = errors.New("headroomd has not got the ElasticQuotas yet")
)

// usable is nil where what headroomd answered counts: its profile is ours, and it has been fed nodes.
func (g *gate) usable(greeting client.Greeting, nodes int) error {
	if g.args.Profile != "" && greeting.Profile(g.args.Profile) == nil {
		return fmt.Errorf("headroomd serves no profile %q (HeadroomArgs.profile)", g.args.Profile)
	}
	if nodes == 0 {
		if was := g.unfed.Load(); was == nil || was.incarnation != greeting.Incarnation {
			g.unfed.CompareAndSwap(was, &unfed{greeting.Incarnation, time.Now()})
		}
		return errNotFed
	}
	g.unfed.Store(nil)
	return nil
}

// isBeingFed: headroomd is there and will have its facts in a moment.
func (g *gate) isBeingFed(why error) bool {
	was := g.unfed.Load()
	return errors.Is(why, errNotFed) && was != nil && time.Since(was.since) < feedGrace
}

// holds tells whether the pod waits for headroomd, however long that takes.
func (g *gate) holds(pod *v1.Pod) bool {
	return g.args.OnUnavailable == Wait || g.args.OnUnavailableQuotas == Wait && g.elasticQuotas.rule(pod.Namespace)
}

// awaitsQuotas tells whether a headroomd that decides by quotas may not have that of the pod, although the gate of
// quotas is closed then.
func (g *gate) awaitsQuotas(pod *v1.Pod, greeting client.Greeting) bool {
	return g.args.OnUnavailableQuotas == Wait && greeting.Profile(g.args.Profile).Has(capacityScheduling) &&
		g.elasticQuotas.awaited(pod.Namespace)
}

// open tells which gates new pods pass while headroomd cannot be asked for that reason; nil: it can.
func (g *gate) open(why error) (limits, quotas bool) {
	limits = why != nil && !g.isBeingFed(why) && g.args.OnUnavailable == Skip
	return limits, limits && g.args.OnUnavailableQuotas == Skip
}

// waits is what the condition of a pod says that waits because headroomd cannot be asked: first what has
// it wait.
func (g *gate) waits(pod *v1.Pod, why error) string {
	switch {
	case g.isBeingFed(why):
		return why.Error()
	case g.args.OnUnavailable == Wait:
		return fmt.Sprintf("onUnavailable is Wait: %v", why)
	case g.holds(pod):
		return fmt.Sprintf("onUnavailableQuotas is Wait, for pods of namespaces with an ElasticQuota: %v", why)
	default:
		return fmt.Sprintf("gracePeriod is %v, for pods that headroomd turned away: %v", g.args.GracePeriod.Duration, why)
	}
}

// isAboutThePod: headroomd is there and cannot use this pod, which the gate treats as if it were away for it
// alone. What else it refuses (a role that is missing, a fault of its own) is as if it were away.
func isAboutThePod(err error) bool {
	var refused *client.ServerError
	if !errors.As(err, &refused) || errors.Is(err, client.ErrUnavailable) {
		return false
	}
	switch refused.Code {
	case wire.ErrorCodeForbidden, wire.ErrorCodeInternal, wire.ErrorCodeIo:
		return false
	default:
		return true
	}
}

// isConflict: the node is not as it was when the engine decided.
func isConflict(err error) bool {
	var refused *client.ServerError
	return errors.As(err, &refused) && refused.Code == wire.ErrorCodeConflict
}

// isOthers: the pod is reserved by another front-end. For want of a role its reservation would be
// Forbidden, too.
func isOthers(err error, greeting client.Greeting) bool {
	var refused *client.ServerError
	return errors.As(err, &refused) && refused.Code == wire.ErrorCodeForbidden && greeting.May(wire.RoleDecide)
}

// refusal is headroomd's own words.
func refusal(err error) string {
	var refused *client.ServerError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}

// wasTurnedAway: some scheduling cycle found no node for the pod, as its condition says. It is what a
// scheduler that has just begun knows about the pods of its predecessor.
func wasTurnedAway(pod *v1.Pod) bool {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == v1.PodScheduled {
			return condition.Status == v1.ConditionFalse && condition.Reason == v1.PodReasonUnschedulable
		}
	}
	return false
}
