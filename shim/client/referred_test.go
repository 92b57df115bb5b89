package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/wire"
)

// Of each kind what goes over the wire of the first object in testdata/edges.json, which has all fields.
var reducedEdges = map[Kind]string{
	Namespaces: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"blue","labels":{"env":"prod"}}}`,
	Services: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"blue"},` +
		`"spec":{"selector":{"app":"web","tier":"x"}}}`,
	ReplicationControllers: `{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"old","namespace":"blue"},` +
		`"spec":{"selector":{"app":"old"}}}`,
	ReplicaSets: `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","namespace":"blue"},"spec":{"selector":` +
		`{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"tier","operator":"In","values":["x","y"]}]}}}`,
	StatefulSets: `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"blue"},"spec":{"selector":` +
		`{"matchLabels":{"app":"db"}}}}`,
	PersistentVolumes: `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-1","labels":{"topology.kubernetes.io/zone":"a"},` +
		`"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteOnce"],` +
		`"storageClassName":"fast","volumeMode":"Block","volumeAttributesClassName":"gold","nodeAffinity":{"required":{"nodeSelectorTerms":` +
		`[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]}},"claimRef":{"namespace":"blue","name":"a","uid":"c1"},` +
		`"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-1"}},"status":{"phase":"Bound"}}`,
	PersistentVolumeClaims: `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","namespace":"blue","uid":"c1","annotations":` +
		`{"pv.kubernetes.io/bind-completed":"yes","volume.kubernetes.io/selected-node":"n1"},"deletionTimestamp":"2026-01-01T00:00:00Z",` +
		`"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"asks","uid":"p8","controller":true}]},"spec":{"accessModes":["ReadWriteOncePod"],` +
		`"selector":{"matchLabels":{"disk":"ssd"}},"resources":{"requests":{"storage":"5Gi"}},"volumeName":"pv-1","storageClassName":"fast",` +
		`"volumeMode":"Block","volumeAttributesClassName":"gold"},"status":{"phase":"Lost"}}`,
	StorageClasses: `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"ebs.csi.aws.com",` +
		`"volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]}`,
	CSINodes: `{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n1"},"spec":{"drivers":` +
		`[{"name":"ebs.csi.aws.com","allocatable":{"count":25}},{"name":"nfs.csi.k8s.io"}]}}`,
	CSIDrivers: `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"ebs.csi.aws.com"},"spec":` +
		`{"storageCapacity":true,"preventPodSchedulingIfMissing":true}}`,
	CSIStorageCapacities: `{"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"a","namespace":"kube-system"},` +
		`"storageClassName":"fast","nodeTopology":{"matchLabels":{"zone":"a"}},"capacity":"100Gi","maximumVolumeSize":"16Ti"}`,
}

func jsonOf(t *testing.T, kind Kind, object any) string {
	t.Helper()
	e := newEncoder()
	offset, err := e.upsert(kind, object)
	if err != nil {
		t.Fatalf("%s: %s", kind, err)
	}
	e.b.Finish(offset)
	change := wire.GetRootAsChange(e.b.FinishedBytes(), 0)
	if change.FactType() != wire.FactReferredObject {
		t.Fatalf("%s: %s", kind, change.FactType())
	}
	var table flatbuffers.Table
	change.Fact(&table)
	var read wire.ReferredObject
	read.Init(table.Bytes, table.Pos)
	return string(read.Json())
}

func TestReferredObjectsHaveWhatIsReadAndNoMore(t *testing.T) {
	stores, _ := readCluster(t, "testdata/edges.json")
	for kind := firstReferred; kind < kindCount; kind++ {
		objects := stores[kind].List()
		want, known := reducedEdges[kind]
		if !known || len(objects) == 0 {
			t.Errorf("%s: no such object", kind)
			continue
		}
		found := false
		var last string
		for _, object := range objects {
			before, _ := json.Marshal(object)
			last = jsonOf(t, kind, object)
			if after, _ := json.Marshal(object); string(after) != string(before) {
				t.Errorf("%s was changed", object.(metav1.Object).GetName())
			}
			found = found || last == want
		}
		if !found {
			t.Errorf("%s: got\n%s\nwant\n%s", kind, last, want)
		}
	}
	e := newEncoder()
	if _, err := e.upsert(Namespaces, &v1.Service{}); err == nil || !strings.Contains(err.Error(), "Namespaces: an object of type *v1.Service") {
		t.Errorf("a Service is no Namespace: %v", err)
	}
	if _, err := e.upsert(CSINodes, &v1.Node{}); err == nil {
		t.Error("a Node is no CSINode")
	}
}

// Absent selectors are not empty ones.
func TestAbsentSelectors(t *testing.T) {
	for want, selector := range map[string]map[string]string{`{"selector":null}`: nil, `{"selector":{}}`: {}} {
		if got := jsonOf(t, Services, &v1.Service{Spec: v1.ServiceSpec{Selector: selector}}); !strings.HasSuffix(got, `"spec":`+want+"}") {
			t.Errorf("%v: %s", selector, got)
		}
	}
}

// greetReading answers the hello as one whose profile reads these kinds.
func (p *peer) greetReading(kinds ...string) {
	hello := p.expect(wire.BodyHello)
	p.reply(hello.id, wire.BodyHelloReply, func(e *encoder) flatbuffers.UOffsetT {
		names := e.strings(kinds)
		wire.ProfileStart(e.b)
		wire.ProfileAddReferredKinds(e.b, names)
		mark := e.mark()
		e.push(wire.ProfileEnd(e.b))
		profiles := e.vector(mark)
		wire.HelloReplyStart(e.b)
		wire.HelloReplyAddVersion(e.b, 1)
		wire.HelloReplyAddIncarnation(e.b, 7)
		wire.HelloReplyAddProfiles(e.b, profiles)
		return wire.HelloReplyEnd(e.b)
	})
}

// changesOf is what the changes of a Facts frame are about.
func changesOf(request asked) []string {
	var facts wire.Facts
	facts.Init(request.body.Bytes, request.body.Pos)
	var all []string
	for i := range facts.ChangesLength() {
		var change wire.Change
		facts.Changes(&change, i)
		var table flatbuffers.Table
		change.Fact(&table)
		switch change.FactType() {
		case wire.FactReferredObject:
			var object wire.ReferredObject
			object.Init(table.Bytes, table.Pos)
			all = append(all, string(object.Json()))
		case wire.FactRemovedReferredObject:
			var removed wire.RemovedReferredObject
			removed.Init(table.Bytes, table.Pos)
			all = append(all, fmt.Sprintf("no %s %s", removed.Kind(), removed.Key()))
		default:
			all = append(all, change.FactType().String())
		}
	}
	return all
}

// The kinds that the profile reads are asked for before the first fact; a kind that this package does not know
// is nobody's.
func TestFeedsTheKindsThatTheProfileReads(t *testing.T) {
	received := make(chan []string, 16)
	server := startFake(t, func(p *peer) {
		p.greetReading("Service", "FutureKind", "Namespace")
		for sequence := uint64(0); ; {
			request, ok := p.next()
			if !ok {
				return
			}
			switch request.bodyType {
			case wire.BodyFacts:
				sequence++
				received <- changesOf(request)
			case wire.BodyStats:
				p.stats(request.id, sequence)
			}
		}
	})
	namespaces := newStore(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue"}})
	services := newStore()
	var asked []Kind
	var f *Feeder
	f = NewFeeder(server.address, FeederOptions{Options: Options{Name: "feeder"},
		OnReferredKinds: func(_ context.Context, kinds []Kind) {
			asked = kinds
			f.SetStore(Namespaces, namespaces)
			f.SetStore(Services, services)
		}})
	run(t, f)
	if got := <-received; !slices.Equal(got, []string{`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"blue"}}`}) {
		t.Errorf("first: %q", got)
	}
	if !slices.Equal(asked, []Kind{Namespaces, Services}) {
		t.Errorf("asked for %v", asked)
	}
	namespaces.remove("blue")
	f.Mark(Namespaces, "blue")
	if got := <-received; !slices.Equal(got, []string{"no Namespace blue"}) {
		t.Errorf("then: %q", got)
	}
	f.Mark(Services, "blue/web")
	if got := <-received; !slices.Equal(got, []string{"no Service blue/web"}) {
		t.Errorf("last: %q", got)
	}
}
