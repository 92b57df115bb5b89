package client

import (
	"context"
	"sync"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// Reservation is a Reserve that was sent. It may be awaited by any goroutine, and more than once.
type Reservation struct {
	sent *call
	mu   sync.Mutex
	read bool
	err  error
}

// Reserve asks that the pod counts on the node from now on, and does not wait for the answer.
func (c *Client) Reserve(ctx context.Context, pod *v1.Pod, node string) (*Reservation, error) {
	sent, err := c.send(ctx, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		ref := e.podRef(pod)
		name := e.string(node)
		wire.ReserveStart(e.b)
		wire.ReserveAddPod(e.b, ref)
		wire.ReserveAddNodeName(e.b, name)
		return wire.BodyReserve, wire.ReserveEnd(e.b)
	})
	if err != nil {
		return nil, err
	}
	return &Reservation{sent: sent}, nil
}

// awaitPatience is how long Await leaves reading to others: a request that follows reads the answer on
// its way, and would have to be woken if it found another goroutine reading.
const awaitPatience = 500 * time.Microsecond

// Await waits for the answer, without polling: it is for goroutines that are in no hurry. nil: reserved. A
// *ServerError says why not: Conflict where the node no longer takes the pod. After any other error, such as
// ErrUnavailable or the context's, it is not known: Unreserve, or Reserve again, which is safe.
func (c *Client) Await(ctx context.Context, r *Reservation) error {
	c.linger(ctx, r.sent, awaitPatience)
	if err := c.wait(ctx, r.sent); err != nil {
		return unavailable(c.address, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		r.err = c.read(r.sent, readReserved(r.sent))
		r.read = true
	}
	return r.err
}

// linger waits for somebody else to read the reply.
func (c *Client) linger(ctx context.Context, sent *call, patience time.Duration) {
	c.mu.Lock()
	if sent.done {
		c.mu.Unlock()
		return
	}
	sent.waiting++
	c.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-sent.wake:
	case <-ctx.Done():
	case <-timer.C:
	}
	c.mu.Lock()
	sent.waiting--
	c.mu.Unlock()
}

func readReserved(from *call) (err error) {
	defer recoverMalformed(&err)
	if err := from.open(wire.BodyReserved); err != nil {
		return err
	}
	var reserved wire.Reserved
	reserved.Init(from.body.Bytes, from.body.Pos)
	if code := reserved.Code(); code != wire.ErrorCodeNone {
		return &ServerError{code, string(reserved.Message())}
	}
	return nil
}

// Unreserve takes a reservation of the pod on the node back, if there is one.
func (c *Client) Unreserve(ctx context.Context, pod *v1.Pod, node string) error {
	answered, err := c.ask(ctx, wire.BodyUnreserved, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		namespace := e.string(pod.Namespace)
		name := e.string(pod.Name)
		uid := e.string(string(pod.UID))
		on := e.string(node)
		wire.UnreserveStart(e.b)
		wire.UnreserveAddNamespaceName(e.b, namespace)
		wire.UnreserveAddName(e.b, name)
		wire.UnreserveAddUid(e.b, uid)
		wire.UnreserveAddNodeName(e.b, on)
		return wire.BodyUnreserve, wire.UnreserveEnd(e.b)
	})
	if err != nil {
		return err
	}
	c.recycle(answered)
	return nil
}

// RenewReservations has the reservations of this client's owner (Greeting.Owner) last
// Greeting.ReservationTime from now. It returns how many there are. *ServerError Unsupported: the server
// does not end any.
func (c *Client) RenewReservations(ctx context.Context) (renewed int, err error) {
	return exchange(ctx, c, wire.BodyReservationsRenewed, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		wire.RenewReservationsStart(e.b)
		return wire.BodyRenewReservations, wire.RenewReservationsEnd(e.b)
	}, readRenewed)
}

func readRenewed(from *call) (renewed int, err error) {
	defer recoverMalformed(&err)
	var reply wire.ReservationsRenewed
	reply.Init(from.body.Bytes, from.body.Pos)
	return int(reply.Renewed()), nil
}
