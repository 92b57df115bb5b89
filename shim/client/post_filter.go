package client

import (
	"context"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// Victim is a pod that has to go.
type Victim struct {
	Namespace, Name, UID, Node string
	Priority                   int32
}

// PostFilterAnswer says who has to go so that a pod has its place, or why nobody.
type PostFilterAnswer struct {
	Epoch         uint64
	Code          wire.Code
	NominatedNode string
	Victims       []Victim // most important first; those that terminate already, too
	Reasons       []string
	PDBViolations int64
	CrossNode     bool // some victims are on other nodes than the nominated one
	// Where Code is not Success: a nomination that the pod has stays, because its victims are terminating,
	// a node has room by now, or a filter failed. Otherwise the pod should lose it.
	StaysNominated bool
	Candidates     []NodeVictims // with PostFilterOptions.Candidates
}

// NodeVictims is what a preemption on one node would come to.
type NodeVictims struct {
	Node          string
	Code          wire.Code // Success: the victims make room
	Reasons       []string  // why they do not
	Victims       []Victim  // most important first
	PDBViolations int64
}

// PostFilterOptions are what a PostFilter is to tell.
type PostFilterOptions struct {
	Candidates bool // fill PostFilterAnswer.Candidates, which costs a dry run of every node
}

// PostFilter asks who has to go for the pod. It changes nothing. *ServerError Unsupported: the profile has
// no CapacityScheduling.
func (c *Client) PostFilter(ctx context.Context, pod *v1.Pod, options PostFilterOptions) (*PostFilterAnswer, error) {
	return exchange(ctx, c, wire.BodyPostFiltered, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		ref := e.podRef(pod)
		wire.PostFilterStart(e.b)
		wire.PostFilterAddPod(e.b, ref)
		wire.PostFilterAddCandidates(e.b, options.Candidates)
		return wire.BodyPostFilter, wire.PostFilterEnd(e.b)
	}, readPostFiltered)
}

func readPostFiltered(from *call) (answer *PostFilterAnswer, err error) {
	defer recoverMalformed(&err)
	var reply wire.PostFiltered
	reply.Init(from.body.Bytes, from.body.Pos)
	read := &PostFilterAnswer{
		Epoch:          reply.Epoch(),
		Code:           reply.Code(),
		NominatedNode:  string(reply.NominatedNode()),
		PDBViolations:  reply.PdbViolations(),
		CrossNode:      reply.CrossNode(),
		StaysNominated: reply.StaysNominated(),
	}
	read.Victims = readVictims(reply.VictimsLength(), reply.Victims)
	for i := range reply.ReasonsLength() {
		read.Reasons = append(read.Reasons, string(reply.Reasons(i)))
	}
	var candidate wire.NodeVictims
	for i := range reply.CandidatesLength() {
		reply.Candidates(&candidate, i)
		read.Candidates = append(read.Candidates, readNodeVictims(&candidate))
	}
	return read, nil
}

func readNodeVictims(in *wire.NodeVictims) NodeVictims {
	read := NodeVictims{
		Node:          string(in.NodeName()),
		Code:          in.Code(),
		Victims:       readVictims(in.VictimsLength(), in.Victims),
		PDBViolations: in.PdbViolations(),
	}
	for i := range in.ReasonsLength() {
		read.Reasons = append(read.Reasons, string(in.Reasons(i)))
	}
	return read
}

func readVictims(count int, at func(*wire.Victim, int) bool) []Victim {
	var read []Victim
	var victim wire.Victim
	for i := range count {
		at(&victim, i)
		read = append(read, Victim{
			Namespace: string(victim.NamespaceName()),
			Name:      string(victim.Name()),
			UID:       string(victim.Uid()),
			Node:      string(victim.NodeName()),
			Priority:  victim.Priority(),
		})
	}
	return read
}
