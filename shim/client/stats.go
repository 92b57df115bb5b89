package client

import (
	"context"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

// Stats is how the server is.
type Stats struct {
	Incarnation  uint64
	Epoch        uint64
	FedSequence  uint64 // of the last Facts applied, from whichever feeder
	Ready        bool   // a resync has been completed
	Resyncing    bool   // one is under way
	Nodes        int
	Pods         int // that are known, pending ones among them
	PendingPods  int
	ReservedPods int
	Digest       uint64 // with StatsOptions.Digest: of facts, reservations and the time
	Invalid      string // with StatsOptions.Validate: a sum that is wrong; "": none is
}

// StatsOptions are what Stats works out on top; either takes as long as reading all nodes and pods.
type StatsOptions struct{ Digest, Validate bool }

// Stats asks how the server is.
func (c *Client) Stats(ctx context.Context, options StatsOptions) (Stats, error) {
	return exchange(ctx, c, wire.BodyStatsReply, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		return wire.BodyStats, encodeStats(e, options)
	}, func(from *call) (Stats, error) { return readStats(&from.body) })
}

func encodeStats(e *encoder, options StatsOptions) flatbuffers.UOffsetT {
	wire.StatsStart(e.b)
	wire.StatsAddDigest(e.b, options.Digest)
	wire.StatsAddValidate(e.b, options.Validate)
	return wire.StatsEnd(e.b)
}

func readStats(body *flatbuffers.Table) (stats Stats, err error) {
	defer recoverMalformed(&err)
	var reply wire.StatsReply
	reply.Init(body.Bytes, body.Pos)
	return Stats{
		Incarnation:  reply.Incarnation(),
		Epoch:        reply.Epoch(),
		FedSequence:  reply.FedSequence(),
		Ready:        reply.Ready(),
		Resyncing:    reply.Resyncing(),
		Nodes:        int(reply.Nodes()),
		Pods:         int(reply.Pods()),
		PendingPods:  int(reply.PendingPods()),
		ReservedPods: int(reply.ReservedPods()),
		Digest:       reply.Digest(),
		Invalid:      string(reply.Invalid()),
	}, nil
}
