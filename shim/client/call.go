package client

import (
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

// call is a request that was sent, and its reply. Its fields are guarded by Client.mu until it is done,
// and belong to the one who waits then.
type call struct {
	link     *link
	id       uint64
	deadline time.Time // after which the connection is no use
	wake     chan struct{}
	waiting  int  // goroutines that wait on `wake`
	given    bool // nobody waits for the reply any more: whoever reads it frees the call
	done     bool
	err      error
	reply    []byte // the frame

	// For reading the reply.
	root      wire.Frame
	body      flatbuffers.Table
	bodyType  wire.Body
	evaluated wire.Evaluated
	decision  wire.Decision
	reason    wire.ReasonCount
}

// finish makes the result known. Client.mu is held.
func (c *call) finish(err error) {
	c.done = true
	c.err = err
	c.signal()
}

// signal wakes one of those who wait.
func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// open reads the reply's root, and an Error as what it is.
func (c *call) open(expected wire.Body) (err error) {
	defer recoverMalformed(&err)
	if c.bodyType, err = openFrame(c.reply, &c.root, &c.body); err != nil {
		return err
	}
	if c.bodyType == wire.BodyError {
		return readError(&c.body)
	}
	if c.bodyType != expected {
		return &unexpectedBody{c.bodyType, expected}
	}
	return nil
}

// unexpectedBody: a reply of another type than the request has.
type unexpectedBody struct{ got, expected wire.Body }

func (u *unexpectedBody) Error() string {
	return "the server answered with " + u.got.String() + " instead of " + u.expected.String()
}

// callQueue is a first-in-first-out of calls in memory that is used again.
type callQueue struct {
	calls []*call
	begin int
}

func (q *callQueue) push(c *call) {
	if q.begin == len(q.calls) {
		q.calls, q.begin = q.calls[:0], 0
	} else if q.begin > 64 && 2*q.begin > len(q.calls) {
		q.calls = q.calls[:copy(q.calls, q.calls[q.begin:])]
		q.begin = 0
	}
	q.calls = append(q.calls, c)
}

func (q *callQueue) first() *call {
	if q.begin == len(q.calls) {
		return nil
	}
	return q.calls[q.begin]
}

func (q *callQueue) pop() { q.calls[q.begin] = nil; q.begin++ }

// unpush takes the last one away again.
func (q *callQueue) unpush() { q.calls = q.calls[:len(q.calls)-1] }

func (q *callQueue) all() []*call { return q.calls[q.begin:] }
