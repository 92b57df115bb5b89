package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"

	"headroom.dev/shim/client"
)

// away is a plugin whose headroomd does not exist.
func away(t *testing.T, args map[string]any) *world {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, api: newAPI(pod("p", "1"))}
	args["address"] = "unix://" + t.TempDir() + "/none.sock"
	w.start(args)
	return w
}

func TestSkipLeavesThePodToOthers(t *testing.T) {
	w := away(t, map[string]any{})
	p := pod("p", "1")
	try := w.preFilter(p)
	if !try.status.IsSkip() || try.names != nil {
		t.Fatalf("%v %v", try.status, try.names)
	}
	if status := w.headroom.PreScore(w.ctx, try.state, p, nil); !status.IsSkip() {
		t.Error(status)
	}
	if status := w.headroom.Reserve(w.ctx, try.state, p, "anywhere"); !status.IsSuccess() {
		t.Error(status)
	}
	w.headroom.Unreserve(w.ctx, try.state, p, "anywhere")
	if result, status := w.headroom.PostFilter(w.ctx, try.state, p, nil); result != nil || status.Code() != fwk.Unschedulable {
		t.Errorf("%v %v", result, status)
	}
}

func TestWaitHoldsThePod(t *testing.T) {
	w := away(t, map[string]any{"onUnavailable": "Wait"})
	try := w.preFilter(pod("p", "1"))
	if try.status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Fatal(try.status)
	}
	if w.handle.activations("p") != 0 {
		t.Error("activated although headroomd is away")
	}
}

func TestAHeldPodIsActivatedWhenHeadroomdIsBack(t *testing.T) {
	w := newWorld(t, map[string]any{"onUnavailable": "Wait"}, fitOnly, node("only", "4"), pod("p", "1"))
	w.fedUntil(1, 1)
	w.daemon.Kill()
	p := pod("p", "1")
	if try := w.preFilter(p); try.status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Fatal(try.status)
	}
	if err := w.daemon.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod is activated", func() bool { return w.handle.activations("p") > 0 })
	w.eventually("the pod has a node", func() bool { return len(w.preFilter(p).names) == 1 })
}

func TestAnotherProfileCountsAsUnavailable(t *testing.T) {
	w := newWorld(t, map[string]any{"profile": "batch"}, fitOnly, node("only", "4"))
	if try := w.preFilter(pod("p", "1")); !try.status.IsSkip() {
		t.Fatal(try.status)
	}
}

// tooLarge is a pod beyond kResourcesPerListMax, as any tenant may make one: the API server takes it.
func tooLarge(name string) *v1.Pod {
	p := pod(name, "1")
	for i := range 65 {
		p.Spec.Containers[0].Resources.Requests[v1.ResourceName(fmt.Sprintf("example.com/r%d", i))] = resource.MustParse("0")
	}
	return p
}

// For such a pod headroomd is as good as away: it is no way past a gate that is closed then.
func TestAPodThatHeadroomdCannotUseIsLeftToOthersOnlyWhereTheyMayHaveIt(t *testing.T) {
	for policy, passes := range map[string]bool{"Skip": true, "Wait": false} {
		w := newWorld(t, map[string]any{"onUnavailable": policy}, fitOnly, node("only", "4"))
		w.fedUntil(1, 0)
		try := w.preFilter(tooLarge("p"))
		if try.status.IsSkip() != passes || isHeld(try) == passes {
			t.Errorf("%s: %v", policy, try.status)
		}
		if !passes && !strings.Contains(try.status.Message(), "cannot decide on the pod") {
			t.Error(try.status)
		}
	}
}

func isHeld(try tryOf) bool { return try.status.Code() == fwk.UnschedulableAndUnresolvable }

// A headroomd that restarts opens nothing that it keeps closed.
func TestARestartChangesNoDecision(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("small", "2"), pod("large", "4"), pod("new", "1"))
	w.fedUntil(1, 2)
	large := pod("large", "4")
	w.preFilter(large)
	w.daemon.Kill()
	if try := w.preFilter(large); !isHeld(try) {
		t.Fatalf("turned away, and then: %v", try.status)
	}
	if try := w.preFilter(pod("new", "1")); !try.status.IsSkip() {
		t.Errorf("a new pod: %v", try.status)
	}
	time.Sleep(2 * wakeAnyway)
	if w.handle.activations("large") != 0 {
		t.Error("activated although headroomd is away")
	}
	if err := w.daemon.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pod is tried again", func() bool { return w.handle.activations("large") > 0 })
	if status := w.filter(w.preFilter(large), large, "small"); status.Message() != "Insufficient cpu" {
		t.Error(status)
	}
}

func TestAfterTheGracePeriodPodsAreReleasedOneByOne(t *testing.T) {
	const grace = 1500 * time.Millisecond
	w := newWorld(t, map[string]any{"gracePeriod": grace.String()}, fitOnly, node("small", "2"),
		withPriority(pod("low", "4"), 1), withPriority(pod("middle", "4"), 2), withPriority(pod("high", "4"), 3))
	w.fedUntil(1, 3)
	names := []string{"low", "middle", "high"}
	for _, name := range names {
		w.preFilter(w.headroom.facts.pod("default/" + name))
	}
	lost := time.Now()
	w.daemon.Kill()
	w.eventually("the most important one is released", func() bool { return w.handle.activations("high") > 0 })
	if took := time.Since(lost); took < grace {
		t.Errorf("after %v", took)
	}
	if w.handle.activations("low")+w.handle.activations("middle") > 0 {
		t.Error("with others")
	}
	event := <-w.handle.recorder.Events
	if !strings.HasPrefix(event, "Warning ReleasedWithoutHeadroom headroomd turned the pod away") {
		t.Error(event)
	}
	if try := w.preFilter(w.headroom.facts.pod("default/high")); !try.status.IsSkip() {
		t.Errorf("released, and then: %v", try.status)
	}
	if try := w.preFilter(w.headroom.facts.pod("default/low")); !isHeld(try) {
		t.Errorf("not released, and then: %v", try.status)
	}
	w.eventually("the others follow", func() bool { return w.handle.activations("low") > 0 })
	if took := time.Since(lost); took < grace+2*releaseInterval {
		t.Errorf("three pods after %v", took)
	}
}

// A pod that was released goes through the gate again when headroomd was back in between.
func TestAnotherOutageHasAGracePeriodOfItsOwn(t *testing.T) {
	r := newWaitingRoom(nil, &fakeHandle{}, &gate{args: HeadroomArgs{GracePeriod: &metav1.Duration{Duration: time.Minute}}})
	p := pod("p", "1")
	r.reject(p, &client.Decision{})
	r.waiting[p.UID].released = true
	if r.parked(p) {
		t.Error("released")
	}
	r.outage.err = errNotFed
	r.found(klog.Background(), nil)
	if !r.parked(p) {
		t.Error("headroomd was back")
	}
	r.pass(p.UID)
	if r.parked(p) {
		t.Error("the engine had nodes for it")
	}
}

// However often headroomd is asked meanwhile, and whatever it answers then.
func TestAnOutageIsLoggedWhenItBeginsAndWhenItIsOver(t *testing.T) {
	refused, late := errors.New("connection refused"), errors.New("no answer in time")
	for name, story := range map[string]struct {
		found []error
		log   []string
	}{
		"an outage":    {[]error{nil, refused, refused, late, refused, nil, nil}, []string{"headroomd is not available", "headroomd is available"}},
		"a restart":    {[]error{nil, refused, errNotFed, nil}, []string{"headroomd is not available", "headroomd is available"}},
		"the start":    {[]error{errNotFed, errNotFed, nil}, []string{"headroomd waits for facts", "headroomd is available"}},
		"never fed":    {[]error{errNotFed, refused, refused}, []string{"headroomd waits for facts", "headroomd is not available"}},
		"two outages":  {[]error{late, nil, late, nil}, []string{"headroomd is not available", "headroomd is available", "headroomd is not available", "headroomd is available"}},
		"all the time": {[]error{nil, nil}, nil},
	} {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		gate := &gate{args: HeadroomArgs{GracePeriod: &metav1.Duration{Duration: time.Minute}}}
		gate.unfed.Store(&unfed{since: time.Now()})
		r := newWaitingRoom(nil, &fakeHandle{}, gate)
		for _, err := range story.found {
			r.found(logger, err)
		}
		var log []string
		for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
			log = append(log, entry.Message)
		}
		if !slices.Equal(log, story.log) {
			t.Errorf("%s: %q", name, log)
		}
	}
}

func TestTheGatesThatAreOpenAreShown(t *testing.T) {
	for name, its := range map[string]struct {
		args           HeadroomArgs
		why            error
		limits, quotas bool
	}{
		"it answers":    {HeadroomArgs{OnUnavailable: Skip, OnUnavailableQuotas: Skip}, nil, false, false},
		"skip":          {HeadroomArgs{OnUnavailable: Skip, OnUnavailableQuotas: Skip}, client.ErrUnavailable, true, true},
		"quotas wait":   {HeadroomArgs{OnUnavailable: Skip, OnUnavailableQuotas: Wait}, client.ErrUnavailable, true, false},
		"wait":          {HeadroomArgs{OnUnavailable: Wait, OnUnavailableQuotas: Wait}, client.ErrUnavailable, false, false},
		"all wait":      {HeadroomArgs{OnUnavailable: Wait, OnUnavailableQuotas: Skip}, client.ErrUnavailable, false, false},
		"it gets facts": {HeadroomArgs{OnUnavailable: Skip, OnUnavailableQuotas: Skip}, errNotFed, false, false},
	} {
		gate := &gate{args: its.args}
		gate.unfed.Store(&unfed{since: time.Now()})
		if limits, quotas := gate.open(its.why); limits != its.limits || quotas != its.quotas {
			t.Errorf("%s: limits %v, quotas %v", name, limits, quotas)
		}
	}
}

// One that has just been started has its facts to come, whatever there was before it.
func TestAHeadroomdIsFedFromItsOwnBeginning(t *testing.T) {
	g := &gate{}
	g.unfed.Store(&unfed{incarnation: 1, since: time.Now().Add(-2 * feedGrace)})
	if err := g.usable(client.Greeting{Incarnation: 1}, 0); g.isBeingFed(err) {
		t.Error("the first one is being fed for ever")
	}
	if err := g.usable(client.Greeting{Incarnation: 2}, 0); !g.isBeingFed(err) {
		t.Error("the second one is not being fed")
	}
}

// A pod's condition says first what has it wait.
func TestAHeldPodSaysWhatHasItWait(t *testing.T) {
	turnedAway := pod("p", "1")
	turnedAway.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
	for says, of := range map[string]struct {
		args map[string]any
		pod  *v1.Pod
	}{
		"onUnavailable is Wait: headroomd is unavailable: ":                                                    {map[string]any{"onUnavailable": "Wait"}, pod("p", "1")},
		"onUnavailableQuotas is Wait, for pods of namespaces with an ElasticQuota: headroomd is unavailable: ": {map[string]any{"onUnavailableQuotas": "Wait"}, pod("p", "1")},
		"gracePeriod is 1m0s, for pods that headroomd turned away: headroomd is unavailable: ":                 {map[string]any{}, turnedAway},
	} {
		w := away(t, of.args)
		if _, waits := of.args["onUnavailableQuotas"]; waits {
			w.headroom.facts.elasticQuotas.follow(elasticQuotaStore(t, "default"), func() bool { return true }, 0)
		}
		if try := w.preFilter(of.pod); !strings.HasPrefix(try.status.Message(), says) {
			t.Errorf("%q does not begin with %q", try.status.Message(), says)
		}
	}
}

// elasticQuotaStore: those of an informer, one in each of the namespaces.
func elasticQuotaStore(t *testing.T, namespaces ...string) cache.Indexer {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, namespace := range namespaces {
		quota := &unstructured.Unstructured{}
		quota.SetNamespace(namespace)
		quota.SetName("quota")
		if err := indexer.Add(quota); err != nil {
			t.Fatal(err)
		}
	}
	return indexer
}

func TestPodsOfQuotasWaitWhereOthersDoNot(t *testing.T) {
	w := away(t, map[string]any{"onUnavailableQuotas": "Wait", "gracePeriod": "0s"})
	synced := false
	w.headroom.facts.elasticQuotas.follow(elasticQuotaStore(t, "team"), func() bool { return synced }, 0)
	team := pod("team", "1")
	team.Namespace = "team"
	if try := w.preFilter(pod("p", "1")); !isHeld(try) {
		t.Errorf("before quotas are known: %v", try.status)
	}
	synced = true
	if try := w.preFilter(team); !isHeld(try) {
		t.Errorf("with a quota: %v", try.status)
	}
	if try := w.preFilter(pod("new", "1")); !try.status.IsSkip() {
		t.Errorf("without a quota: %v", try.status)
	}
	w.eventually("the pod that waited without need is tried again", func() bool { return w.handle.activations("p") > 0 })
	if w.handle.activations("team") != 0 {
		t.Error("the pod of a quota is released")
	}
}

// What headroomd cannot use is no way past a quota.
func TestAPodOfAQuotaThatHeadroomdCannotUseWaits(t *testing.T) {
	w := newWorld(t, map[string]any{"onUnavailableQuotas": "Wait"}, fitOnly, node("only", "4"))
	w.fedUntil(1, 0)
	w.headroom.facts.elasticQuotas.follow(elasticQuotaStore(t, "default"), func() bool { return true }, 0)
	if try := w.preFilter(tooLarge("p")); !isHeld(try) || !strings.Contains(try.status.Message(), "cannot decide") {
		t.Fatal(try.status)
	}
}

// A scheduler that begins beside a headroomd that is not there yet lets nobody pass whom its
// predecessor did not.
func TestASuccessorKnowsWhoWasTurnedAway(t *testing.T) {
	w := away(t, map[string]any{})
	p := pod("p", "1")
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
	if try := w.preFilter(p); !isHeld(try) {
		t.Fatal(try.status)
	}
}

func TestAPodThatHeadroomdCannotUseKeepsNoOtherFromWaking(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("small", "2"), pod("a", "4"), pod("b", "4"), pod("c", "4"))
	w.fedUntil(1, 3)
	for _, name := range []string{"a", "b", "c"} {
		w.preFilter(pod(name, "4"))
	}
	unusable := tooLarge("b")
	if _, err := w.api.CoreV1().Pods("default").Update(w.ctx, unusable, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the informer shows it", func() bool {
		_, ok := w.headroom.facts.pod("default/b").Spec.Containers[0].Resources.Requests["example.com/r0"]
		return ok
	})
	w.create(node("large", "8"))
	w.eventually("the others are activated", func() bool { return w.handle.activations("a") > 0 && w.handle.activations("c") > 0 })
	if w.handle.activations("b") != 0 {
		t.Error("activated although headroomd cannot use it")
	}
}

// headroomd decides by quotas that it may not have: the gate of quotas is closed.
func TestPodsOfQuotasWaitUntilHeadroomdHasThem(t *testing.T) {
	w := newWorld(t, map[string]any{"onUnavailableQuotas": "Wait"}, withPreemption, node("only", "4"))
	w.fedUntil(1, 0)
	quotas := &w.headroom.facts.elasticQuotas
	w.eventually("there are none", func() bool { return !quotas.rule("default") })
	team := pod("team", "1")
	if try := w.preFilter(team); !try.status.IsSuccess() {
		t.Fatal(try.status)
	}
	resyncs := w.headroom.facts.feeder.Resyncs()
	quotas.follow(elasticQuotaStore(t, "default"), func() bool { return true }, resyncs)
	if try := w.preFilter(team); !isHeld(try) || !strings.Contains(try.status.Message(), "ElasticQuotas") {
		t.Errorf("headroomd may not have it: %v", try.status)
	}
	quotas.applied(resyncs)
	if try := w.preFilter(team); !isHeld(try) {
		t.Errorf("it was not among what was applied: %v", try.status)
	}
	quotas.applied(resyncs + 1)
	if try := w.preFilter(team); !try.status.IsSuccess() {
		t.Error(try.status)
	}
}
