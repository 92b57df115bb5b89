package client

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/wire"
)

// digests are those of all facts and of what CapacityQuotas know, whatever their order.
type digests struct{ facts, capacity uint64 }

func digestsOf(t *testing.T, address Address) digests {
	t.Helper()
	c := New(address, Options{Name: "digest", Timeout: waitMax})
	defer c.Close() // who polls holds one connection at a time
	answered, err := c.ask(context.Background(), wire.BodyStatsReply,
		func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
			return wire.BodyStats, encodeStats(e, StatsOptions{Digest: true, Validate: true})
		})
	if err != nil {
		t.Fatal(err)
	}
	var reply wire.StatsReply
	reply.Init(answered.body.Bytes, answered.body.Pos)
	if reply.Invalid() != nil {
		t.Errorf("invalid: %s", reply.Invalid())
	}
	return digests{reply.Digest(), reply.CapacityDigest()}
}

// notConsideredBy asks about a pod as the server was fed it.
func notConsideredBy(t *testing.T, address Address, pod *v1.Pod) []wire.NotConsidered {
	t.Helper()
	c := newClient(t, address, Options{Name: "asks by uid"})
	var decision Decision
	answered, err := c.ask(context.Background(), wire.BodyEvaluated,
		func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
			uid := e.string(string(pod.UID))
			wire.PodRefStart(e.b)
			wire.PodRefAddUid(e.b, uid)
			mark := e.mark()
			e.push(wire.PodRefEnd(e.b))
			return encodeEvaluate(e, e.vector(mark), EvaluateOptions{})
		})
	if err == nil {
		err = c.readDecision(answered, &decision)
	}
	if err != nil {
		t.Fatalf("pod %s: %s", pod.Name, err)
	}
	return decision.NotConsidered
}

// readsAll is a profile that reads all kinds.
const readsAll = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: CapacityScheduling}, {name: LoadAwareScheduling}]}}
`

// The same objects, read by headroom out of JSON and fed by the C++ client, and decoded by Kubernetes' types
// and fed by this package, are the same facts.
func TestFeedsWhatTheToolFeeds(t *testing.T) {
	for _, path := range []string{"testdata/edges.json", "../../../shared/data/cluster-200.json"} {
		t.Run(path, func(t *testing.T) {
			stores, newest := readCluster(t, path)
			profile := filepath.Join(t.TempDir(), "profile.yaml")
			if err := os.WriteFile(profile, []byte(readsAll), 0o600); err != nil {
				t.Fatal(err)
			}
			tool := startHeadroomd(t, "--profile", profile)
			command := exec.Command(program(t, "headroom"), "load", "--endpoint", tool.address.String(), "--replace-facts",
				"--config", profile, "--cluster", path, "--seconds", "1", "--warm-up", "0", "--no-echo", "--verify", "1")
			if output, err := command.CombinedOutput(); err != nil {
				t.Fatalf("headroom load: %s\n%s", err, output)
			}
			own := startHeadroomd(t, "--profile", profile)
			feedOnce(t, own.address, stores, newest)
			want, got := digestsOf(t, tool.address), digestsOf(t, own.address)
			if want != got {
				t.Errorf("digests %+v; of the tool's feeding %+v", got, want)
			}
			// What pods ask for beyond what digests tell of.
			for _, object := range stores[Pods].List() {
				pod := object.(*v1.Pod)
				if pod.Spec.NodeName != "" || pod.Status.Phase != v1.PodPending {
					continue
				}
				want, got := notConsideredBy(t, tool.address, pod), notConsideredBy(t, own.address, pod)
				if !slices.Equal(want, got) {
					t.Errorf("pod %s: not considered %v; of the tool's feeding %v", pod.Name, got, want)
				}
			}
			// The digest tells: one object less is another.
			for kind, store := range stores {
				if Kind(kind) == CapacityQuotas || Kind(kind) == NodeMetrics {
					continue
				}
				objects := store.List()
				if len(objects) == 0 {
					continue
				}
				less := stores
				less[kind] = newStore()
				for _, object := range objects[1:] {
					less[kind].put(object.(metav1.Object))
				}
				feedOnce(t, own.address, less, newest)
				if digestsOf(t, own.address).facts == want.facts {
					t.Errorf("the same digest without %s", objects[0].(metav1.Object).GetName())
				}
			}
		})
	}
}

// feedOnce feeds until all has been applied, at the given time.
func feedOnce(t *testing.T, address Address, stores [kindCount]*mapStore, now int64) {
	t.Helper()
	applied := make(chan Stats, 1)
	f := NewFeeder(address, FeederOptions{
		Options: Options{Name: "feeder"},
		OnApplied: func(stats Stats) {
			select {
			case applied <- stats:
			default:
			}
		},
		OnRefused: func(kind Kind, key string, err *ServerError) { t.Errorf("%s %s: %s", kind, key, err) },
	})
	f.clock = func() int64 { return now }
	for kind, store := range stores {
		f.SetStore(Kind(kind), store)
	}
	stop := run(t, f)
	select {
	case stats := <-applied:
		if !stats.Ready || stats.Resyncing {
			t.Errorf("applied: %+v", stats)
		}
	case <-time.After(waitMax):
		t.Fatal("not applied")
	}
	stop()
}
