package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

const twoProfiles = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: spreads
- schedulerName: packs
  plugins:
    multiPoint: {disabled: [{name: "*"}]}
    filter: {enabled: [{name: NodeResourcesFit}]}
    score: {enabled: [{name: NodeResourcesFit}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
`

// Each client is decided for by the profile that it names, and all see what is reserved.
func TestTheNamedProfileDecides(t *testing.T) {
	ctx := context.Background()
	profile := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(profile, []byte(twoProfiles), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startHeadroomd(t, "--profile", profile)
	f := NewFeeder(d.address, FeederOptions{Options: Options{Name: "feeder"}})
	f.SetStore(Nodes, newStore(testNode("n1", "8"), testNode("n2", "8")))
	f.SetStore(Pods, newStore(testPod("old", "2", "n1")))
	run(t, f)
	spreads := newClient(t, d.address, Options{Name: "spreads", SchedulerName: "spreads"})
	packs := newClient(t, d.address, Options{Name: "packs", SchedulerName: "packs"})
	unnamed := newClient(t, d.address, Options{Name: "unnamed"})
	eventually(t, "the facts are there", func() bool {
		stats, err := packs.Stats(ctx, StatsOptions{})
		return err == nil && stats.Ready && stats.Nodes == 2 && stats.Pods == 1
	})
	best := func(c *Client) string {
		t.Helper()
		var decision Decision
		if err := c.Evaluate(ctx, testPod("new", "1", ""), EvaluateOptions{TopK: 2}, &decision); err != nil {
			t.Fatal(err)
		}
		return decision.Candidates[0].Node
	}
	if a, b, c := best(spreads), best(packs), best(unnamed); a != "n2" || b != "n1" || c != "n2" {
		t.Errorf("spreads: %s, packs: %s, unnamed: %s", a, b, c)
	}
	reservation, err := spreads.Reserve(ctx, testPod("first", "4", ""), "n2")
	if err == nil {
		err = spreads.Await(ctx, reservation)
	}
	if err != nil {
		t.Fatal(err)
	}
	if a, b := best(spreads), best(packs); a != "n1" || b != "n2" {
		t.Errorf("with 4 of 8 reserved on n2: spreads: %s, packs: %s", a, b)
	}
	greeting := packs.Greeting()
	if names := namesOf(greeting); !slices.Equal(names, []string{"packs", "spreads"}) || greeting.Profile("").SchedulerName != "packs" {
		t.Errorf("packs is told of %v", names)
	}
	if names := namesOf(unnamed.Greeting()); !slices.Equal(names, []string{"spreads", "packs"}) {
		t.Errorf("who names none is told of %v", names)
	}
	other := newClient(t, d.address, Options{SchedulerName: "other"})
	if _, err := evaluate(other); !errors.Is(err, ErrUnavailable) ||
		!strings.Contains(err.Error(), `scheduler_name: "other" has no profile here; served: spreads, packs`) {
		t.Errorf("a name without a profile: %v", err)
	}
}

func namesOf(greeting Greeting) (names []string) {
	for i := range greeting.Profiles {
		names = append(names, greeting.Profiles[i].SchedulerName)
	}
	return names
}

// A headroomd of one profile decides by it for whoever asks, whatever the name.
func TestTheOnlyProfileDecidesForEveryName(t *testing.T) {
	d := startHeadroomd(t)
	c := newClient(t, d.address, Options{SchedulerName: "some-scheduler"})
	if _, err := c.Stats(t.Context(), StatsOptions{}); err != nil {
		t.Fatal(err)
	}
	if names := namesOf(c.Greeting()); !slices.Equal(names, []string{"default-scheduler"}) {
		t.Errorf("told of %v", names)
	}
}

// What is on the wire: an older headroomd passes over the name, and one that is not asked for any sees none.
func TestTheNameIsSaidOnlyWhereThereIsOne(t *testing.T) {
	said := make(chan []byte, 1)
	server := startFake(t, func(p *peer) {
		hello := p.expect(wire.BodyHello)
		var its wire.Hello
		its.Init(hello.body.Bytes, hello.body.Pos)
		said <- its.SchedulerName()
		p.reply(hello.id, wire.BodyHelloReply, func(e *encoder) flatbuffers.UOffsetT {
			wire.HelloReplyStart(e.b)
			wire.HelloReplyAddVersion(e.b, ProtocolVersion)
			wire.HelloReplyAddIncarnation(e.b, 7)
			return wire.HelloReplyEnd(e.b)
		})
		p.serveEvaluates()
	})
	for _, name := range []string{"", "batch"} {
		c := newClient(t, server.address, Options{SchedulerName: name})
		if _, err := evaluate(c); err != nil {
			t.Fatal(err)
		}
		if got := <-said; (got == nil) != (name == "") || string(got) != name {
			t.Errorf("%q is said as %q", name, got)
		}
	}
	f := NewFeeder(server.address, FeederOptions{Options: Options{Name: "feeder", SchedulerName: "batch"}})
	run(t, f)
	if got := <-said; got != nil {
		t.Errorf("a feeder, which feeds all profiles, says %q", got)
	}
}
