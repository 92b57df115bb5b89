package client

import (
	"context"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// Amounts of capacity are in the resource's unit: thousandths of cpu, else whole. One beyond int64 is int64's
// greatest or least value.

// CapacityItem is nodes that may be created. Of Node the name, which may be any, labels and Status.Capacity are
// sent, and nothing else.
type CapacityItem struct {
	Node  *v1.Node
	Count int64 // 0 or more
}

// CapacityRow is one limit of one CapacityQuota against some nodes.
type CapacityRow struct {
	Quota     string // its id: "cluster-wide", "max-nodes", "NodeGroup/..." or "CapacityQuota/..."
	Resource  string // as the limit names it
	Limit     int64
	Used      int64 // by nodes that are there
	Reserved  int64 // by nodes that are reserved and not there yet
	Need      int64 // of the count that was asked for
	Headroom  int64 // Limit - Used - Reserved; below 0: over the limit already
	Shortfall int64 // what is missing for the count; 0: it fits
	MaxNodes  int64 // how many this limit would take, whatever was asked; math.MaxInt64: or more
	Binding   bool  // MaxNodes is what is allowed, and that is less than what was asked
}

// SkippedCapacityQuota limits nothing: its spec cannot be used, and it never had one that could.
type SkippedCapacityQuota struct {
	Quota string // its id
	Why   string // names the field and the value
}

// SkippedCapacityQuotas are some of those that limit nothing, with how many were left out.
type SkippedCapacityQuotas struct {
	List    []SkippedCapacityQuota
	LeftOut int
}

// CapacityAnswer says how many of an item's nodes may be created.
type CapacityAnswer struct {
	Allowed     int64
	Rows        []CapacityRow // the limits that the node touches, by quota (class, then name) and resource
	RowsLeftOut int           // by kCapacityQuotaRowsPerReplyMax
}

// CapacityChecked answers a CapacityCheck.
type CapacityChecked struct {
	Epoch   uint64
	Answers []CapacityAnswer // in the items' order
	Skipped SkippedCapacityQuotas
}

// CapacityCheckOptions are what a CapacityCheck is to tell.
type CapacityCheckOptions struct {
	BindingOnly bool // of the rows those that bind
}

// CapacityCheck asks how many of these nodes may be created: each item for itself, all against one state. It
// changes nothing. *ServerError Conflict: the server's facts are not complete yet.
func (c *Client) CapacityCheck(ctx context.Context, items []CapacityItem, options CapacityCheckOptions) (*CapacityChecked, error) {
	return exchange(ctx, c, wire.BodyCapacityChecked, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		list := e.capacityItems(items)
		wire.CapacityCheckStart(e.b)
		wire.CapacityCheckAddItems(e.b, list)
		wire.CapacityCheckAddBindingOnly(e.b, options.BindingOnly)
		return wire.BodyCapacityCheck, wire.CapacityCheckEnd(e.b)
	}, readChecked)
}

func readChecked(from *call) (read *CapacityChecked, err error) {
	defer recoverMalformed(&err)
	var reply wire.CapacityChecked
	reply.Init(from.body.Bytes, from.body.Pos)
	read = &CapacityChecked{Epoch: reply.Epoch(),
		Skipped: readSkipped(reply.SkippedLength(), reply.Skipped, reply.SkippedLeftOut())}
	var answer wire.CapacityAnswer
	for i := range reply.AnswersLength() {
		reply.Answers(&answer, i)
		read.Answers = append(read.Answers, CapacityAnswer{Allowed: answer.Allowed(),
			Rows: readCapacityRows(answer.RowsLength(), answer.Rows), RowsLeftOut: int(answer.RowsLeftOut())})
	}
	return read, nil
}

// CapacityBreak is where a row of items stops to fit.
type CapacityBreak struct {
	Item int   // its place; all before it fit
	Fits int64 // so many of it
	// The binding ones, for the item's whole count: Reserved has the items before it, and Used of a NetBreak
	// lacks the removed nodes.
	Rows        []CapacityRow
	RowsLeftOut int // by kBreakRowsMax
}

// PlanRow is one limit that an added or a removed node touches.
type PlanRow struct {
	Quota, Resource       string
	Limit, Used, Reserved int64
	Added, Removed        int64
	Net                   int64 // Used + Reserved + Added - Removed
	Peak                  int64 // Used + Reserved + Added: all are there before the first is gone
}

// CapacityPlanned answers a CapacityPlan.
type CapacityPlanned struct {
	Epoch       uint64
	NetBreak    *CapacityBreak // where the removed nodes are gone before the first is added; nil: it fits
	PeakBreak   *CapacityBreak // where they go after the last was added; nil: it overshoots in no order
	Rows        []PlanRow      // by quota and resource
	RowsLeftOut int            // by kCapacityQuotaRowsPerReplyMax
	Skipped     SkippedCapacityQuotas
}

// CapacityPlan asks what would come of adding nodes, item by item, and taking others, by name, away. It changes
// nothing. *ServerError NotFound: a node to remove is not there; Conflict: as of CapacityCheck.
func (c *Client) CapacityPlan(ctx context.Context, add []CapacityItem, remove []string) (*CapacityPlanned, error) {
	return exchange(ctx, c, wire.BodyCapacityPlanned, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		items := e.capacityItems(add)
		names := e.strings(remove)
		wire.CapacityPlanStart(e.b)
		wire.CapacityPlanAddAdd(e.b, items)
		wire.CapacityPlanAddRemove(e.b, names)
		return wire.BodyCapacityPlan, wire.CapacityPlanEnd(e.b)
	}, readPlanned)
}

func readPlanned(from *call) (read *CapacityPlanned, err error) {
	defer recoverMalformed(&err)
	var reply wire.CapacityPlanned
	reply.Init(from.body.Bytes, from.body.Pos)
	read = &CapacityPlanned{
		Epoch:       reply.Epoch(),
		NetBreak:    readBreak(reply.NetBreak(nil)),
		PeakBreak:   readBreak(reply.PeakBreak(nil)),
		RowsLeftOut: int(reply.RowsLeftOut()),
		Skipped:     readSkipped(reply.SkippedLength(), reply.Skipped, reply.SkippedLeftOut()),
	}
	var row wire.PlanRow
	for i := range reply.RowsLength() {
		reply.Rows(&row, i)
		read.Rows = append(read.Rows, PlanRow{Quota: string(row.Quota()), Resource: string(row.Resource()),
			Limit: row.Limit(), Used: row.Used(), Reserved: row.Reserved(), Added: row.Added(),
			Removed: row.Removed(), Net: row.Net(), Peak: row.Peak()})
	}
	return read, nil
}

// CapacityReserve is nodes that will be created.
type CapacityReserve struct {
	ID      string // not empty; their nodes have it in the annotation headroom/reservation
	Items   []CapacityItem
	Expires time.Time // it lapses then, by the server's clock or its feeder's
	UpTo    bool      // as many as fit, in the items' order; otherwise all of them, or none
}

// CapacityReserved answers a CapacityReserve.
type CapacityReserved struct {
	Epoch    uint64
	Accepted bool           // otherwise nothing is held
	Allowed  []int64        // by item: how many fit; held where Accepted
	Stopped  *CapacityBreak // nil: all fit
	Now      time.Time      // that Expires was held against
	Skipped  SkippedCapacityQuotas
}

// CapacityReserve holds nodes that will be created until they are there, until Expires, or until CapacityRelease.
// *ServerError Conflict: the id is live; LimitExceeded: Expires is more than a week from now; Io: memory is used up;
// or as of CapacityCheck. It is sent once: after any other error, such as
// ErrUnavailable or the context's, it is not known whether they are held, and CapacityRelease makes sure that they
// are not.
func (c *Client) CapacityReserve(ctx context.Context, reserve CapacityReserve) (*CapacityReserved, error) {
	answered, err := c.send(ctx, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		id := e.string(reserve.ID)
		items := e.capacityItems(reserve.Items)
		wire.CapacityReserveStart(e.b)
		wire.CapacityReserveAddId(e.b, id)
		wire.CapacityReserveAddItems(e.b, items)
		wire.CapacityReserveAddExpiresUs(e.b, reserve.Expires.UnixMicro())
		if reserve.UpTo {
			wire.CapacityReserveAddMode(e.b, wire.ReserveModeUpTo)
		}
		return wire.BodyCapacityReserve, wire.CapacityReserveEnd(e.b)
	})
	if err != nil {
		return nil, err
	}
	err = c.await(ctx, answered, wire.BodyCapacityReserved)
	var reserved *CapacityReserved
	if err == nil {
		reserved, err = readCapacityReserved(answered)
	}
	return reserved, c.end(answered, err)
}

func readCapacityReserved(from *call) (read *CapacityReserved, err error) {
	defer recoverMalformed(&err)
	var reply wire.CapacityReserved
	reply.Init(from.body.Bytes, from.body.Pos)
	read = &CapacityReserved{
		Epoch:    reply.Epoch(),
		Accepted: reply.Accepted(),
		Stopped:  readBreak(reply.Stopped(nil)),
		Now:      time.UnixMicro(reply.NowUs()),
		Skipped:  readSkipped(reply.SkippedLength(), reply.Skipped, reply.SkippedLeftOut()),
	}
	for i := range reply.AllowedLength() {
		read.Allowed = append(read.Allowed, reply.Allowed(i))
	}
	return read, nil
}

// CapacityRelease gives back what is left of a reservation. False: no such one is live, or it was given back, the
// answer was lost, and it was asked again. *ServerError Forbidden: another one made it.
func (c *Client) CapacityRelease(ctx context.Context, id string) (released bool, err error) {
	return exchange(ctx, c, wire.BodyCapacityReleased, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		its := e.string(id)
		wire.CapacityReleaseStart(e.b)
		wire.CapacityReleaseAddId(e.b, its)
		return wire.BodyCapacityRelease, wire.CapacityReleaseEnd(e.b)
	}, readReleased)
}

func readReleased(from *call) (released bool, err error) {
	defer recoverMalformed(&err)
	var reply wire.CapacityReleased
	reply.Init(from.body.Bytes, from.body.Pos)
	return reply.Released(), nil
}

func (e *encoder) nodeTemplate(node *v1.Node) flatbuffers.UOffsetT {
	name := e.string(node.Name)
	labels := e.stringMap(node.Labels)
	capacity := e.resources(node.Status.Capacity)
	wire.NodeStart(e.b)
	wire.NodeAddName(e.b, name)
	wire.NodeAddLabels(e.b, labels)
	wire.NodeAddCapacity(e.b, capacity)
	return wire.NodeEnd(e.b)
}

func (e *encoder) capacityItems(items []CapacityItem) flatbuffers.UOffsetT {
	mark := e.mark()
	for _, item := range items {
		node := e.nodeTemplate(item.Node)
		wire.CapacityItemStart(e.b)
		wire.CapacityItemAddNode(e.b, node)
		wire.CapacityItemAddCount(e.b, item.Count)
		e.push(wire.CapacityItemEnd(e.b))
	}
	return e.vector(mark)
}

func readCapacityRows(count int, at func(*wire.CapacityQuotaRow, int) bool) []CapacityRow {
	var read []CapacityRow
	var row wire.CapacityQuotaRow
	for i := range count {
		at(&row, i)
		read = append(read, CapacityRow{Quota: string(row.Quota()), Resource: string(row.Resource()),
			Limit: row.Limit(), Used: row.Used(), Reserved: row.Reserved(), Need: row.Need(),
			Headroom: row.Headroom(), Shortfall: row.Shortfall(), MaxNodes: row.MaxNodes(), Binding: row.Binding()})
	}
	return read
}

func readSkipped(count int, at func(*wire.SkippedCapacityQuota, int) bool, leftOut uint32) SkippedCapacityQuotas {
	read := SkippedCapacityQuotas{LeftOut: int(leftOut)}
	var quota wire.SkippedCapacityQuota
	for i := range count {
		at(&quota, i)
		read.List = append(read.List, SkippedCapacityQuota{Quota: string(quota.Quota()), Why: string(quota.Why())})
	}
	return read
}

func readBreak(in *wire.CapacityBreak) *CapacityBreak {
	if in == nil {
		return nil
	}
	return &CapacityBreak{Item: int(in.Item()), Fits: in.Fits(), Rows: readCapacityRows(in.RowsLength(), in.Rows),
		RowsLeftOut: int(in.RowsLeftOut())}
}
