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
}

// PostFilter asks who has to go for the pod. It changes nothing. *ServerError Unsupported: the profile has
// no CapacityScheduling.
func (c *Client) PostFilter(ctx context.Context, pod *v1.Pod) (*PostFilterAnswer, error) {
	answered, err := c.ask(ctx, wire.BodyPostFiltered, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		ref := e.podRef(pod)
		wire.PostFilterStart(e.b)
		wire.PostFilterAddPod(e.b, ref)
		return wire.BodyPostFilter, wire.PostFilterEnd(e.b)
	})
	if err != nil {
		return nil, err
	}
	answer, err := readPostFiltered(answered)
	err = c.read(answered, err)
	c.recycle(answered)
	return answer, err
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
	var victim wire.Victim
	for i := range reply.VictimsLength() {
		reply.Victims(&victim, i)
		read.Victims = append(read.Victims, Victim{
			Namespace: string(victim.NamespaceName()),
			Name:      string(victim.Name()),
			UID:       string(victim.Uid()),
			Node:      string(victim.NodeName()),
			Priority:  victim.Priority(),
		})
	}
	for i := range reply.ReasonsLength() {
		read.Reasons = append(read.Reasons, string(reply.Reasons(i)))
	}
	return read, nil
}
