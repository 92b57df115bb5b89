package client

import (
	"context"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

// QuotaAmount is what a quota gives of a resource, in the resource's unit: thousandths of cpu, else whole.
type QuotaAmount struct {
	Resource string
	Min      int64 // of an ElasticQuota; 0: none
	Max      int64 // the limit of a CapacityQuota, too; math.MaxInt64: none
	Used     int64
}

// ElasticQuotaState is what the server counts of an ElasticQuota.
type ElasticQuotaState struct {
	Namespace, Name string
	Amounts         []QuotaAmount // of resources that its bounds or its pods name
}

// CapacityQuotaState is what the server counts of a CapacityQuota.
type CapacityQuotaState struct {
	Name       string
	Generation int64         // metadata.generation of the last spec
	InForce    bool          // false: it limits nothing, because it never had a spec that could be used
	Invalid    string        // why the last spec cannot be used; "": it can
	Amounts    []QuotaAmount // of resources that it limits
}

// pages asks for page after page, from the first on, each by the last one's mark; read adds what a page has.
func pages[State any](ctx context.Context, c *Client, reply wire.Body, what string,
	write func(e *encoder, after flatbuffers.UOffsetT) (wire.Body, flatbuffers.UOffsetT),
	read func(from *call, all []State) (read []State, last string, more bool, err error)) ([]State, error) {
	var all []State
	for after, more := "", true; more; {
		answered, err := c.ask(ctx, reply, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
			return write(e, e.optional(after))
		})
		if err != nil {
			return nil, err
		}
		last := ""
		all, last, more, err = read(answered, all)
		err = c.end(answered, err)
		if err != nil {
			return nil, err
		}
		if more && last == "" {
			return nil, fmt.Errorf("the page of %s after %q is empty, and more are to come", what, after)
		}
		after = last
	}
	return all, nil
}

// ElasticQuotas are those that count, by namespace: of several in a namespace the first by name. None where
// the server's profile has no CapacityScheduling.
func (c *Client) ElasticQuotas(ctx context.Context) ([]ElasticQuotaState, error) {
	return pages(ctx, c, wire.BodyElasticQuotaStatusReply, "ElasticQuotas",
		func(e *encoder, after flatbuffers.UOffsetT) (wire.Body, flatbuffers.UOffsetT) {
			wire.ElasticQuotaStatusStart(e.b)
			wire.ElasticQuotaStatusAddAfter(e.b, after)
			return wire.BodyElasticQuotaStatus, wire.ElasticQuotaStatusEnd(e.b)
		}, readElasticQuotas)
}

func readElasticQuotas(from *call, all []ElasticQuotaState) (read []ElasticQuotaState, last string, more bool, err error) {
	defer recoverMalformed(&err)
	var reply wire.ElasticQuotaStatusReply
	reply.Init(from.body.Bytes, from.body.Pos)
	var quota wire.ElasticQuotaState
	var amount wire.ElasticQuotaAmount
	for i := range reply.QuotasLength() {
		reply.Quotas(&quota, i)
		state := ElasticQuotaState{Namespace: string(quota.NamespaceName()), Name: string(quota.Name())}
		for j := range quota.AmountsLength() {
			quota.Amounts(&amount, j)
			state.Amounts = append(state.Amounts, QuotaAmount{Resource: string(amount.Resource()),
				Min: amount.Min(), Max: amount.Max(), Used: amount.Used()})
		}
		all, last = append(all, state), state.Namespace
	}
	return all, last, reply.More(), nil
}

// CapacityQuotas are those of the API server, by name; limits that an autoscaler has of its own are not among
// them.
func (c *Client) CapacityQuotas(ctx context.Context) ([]CapacityQuotaState, error) {
	return pages(ctx, c, wire.BodyCapacityQuotaStatusReply, "CapacityQuotas",
		func(e *encoder, after flatbuffers.UOffsetT) (wire.Body, flatbuffers.UOffsetT) {
			wire.CapacityQuotaStatusStart(e.b)
			wire.CapacityQuotaStatusAddAfter(e.b, after)
			return wire.BodyCapacityQuotaStatus, wire.CapacityQuotaStatusEnd(e.b)
		}, readCapacityQuotas)
}

func readCapacityQuotas(from *call, all []CapacityQuotaState) (read []CapacityQuotaState, last string, more bool, err error) {
	defer recoverMalformed(&err)
	var reply wire.CapacityQuotaStatusReply
	reply.Init(from.body.Bytes, from.body.Pos)
	var quota wire.CapacityQuotaState
	var amount wire.CapacityAmount
	for i := range reply.QuotasLength() {
		reply.Quotas(&quota, i)
		last = string(quota.Id())
		if quota.QuotaClass() != wire.CapacityQuotaClassCapacityQuota {
			continue
		}
		state := CapacityQuotaState{Name: string(quota.Name()), Generation: quota.Generation(),
			InForce: quota.InForce(), Invalid: string(quota.Invalid())}
		for j := range quota.AmountsLength() {
			quota.Amounts(&amount, j)
			state.Amounts = append(state.Amounts, QuotaAmount{Resource: string(amount.Resource()),
				Max: amount.Limit(), Used: amount.Used()})
		}
		all = append(all, state)
	}
	return all, last, reply.More(), nil
}
