package client

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

const (
	// DefaultTimeout is what a request may take.
	DefaultTimeout = 100 * time.Millisecond
	// DefaultPoll is how long a read polls the socket, where there is more than one processor.
	DefaultPoll = 50 * time.Microsecond
	// After so long without a request the server may have let the connection go, for others.
	quietTime = time.Second
	// Calls that are kept for the next ones.
	freeCallsMax = 64
)

var errClosed = errors.New("the client is closed")

// Options of a Client.
type Options struct {
	Name string // in headroomd's log
	// Whose profile decides where headroomd has several; "": its first. It refuses a name that it has not; with one
	// profile it decides by that for every name (Greeting.Profiles).
	SchedulerName string
	Timeout       time.Duration // of a request whose context ends no earlier; 0: DefaultTimeout
	Poll          time.Duration // how long a read polls the socket before it sleeps; 0: DefaultPoll; below: never
}

func (o *Options) complete() {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Poll == 0 && runtime.GOMAXPROCS(0) > 1 {
		o.Poll = DefaultPoll
	}
}

// Client asks one headroomd. All methods may be called from any goroutine at any time.
//
// It connects when it is asked, and again after a loss: at once first, then after 100 ms, doubling to 10 s
// with some chance in it; in between calls fail at once with ErrUnavailable. Requests that change nothing
// are asked again, once, where the connection proves to be gone. A context's end ends a wait; the reply is
// dropped when it comes. A request that missed Options.Timeout drops the connection, because replies come
// in order.
type Client struct {
	address Address
	options Options

	// Held by the one who connects or sends: a channel, so that waiting for it ends with a context. It
	// guards `encoder`.
	sending chan struct{}
	encoder encoder

	mu     sync.Mutex
	link   *link   // nil: not connected
	retry  backoff // of connecting
	reason error   // why there is no connection
	free   []*call
	closed bool

	names    interner
	greeting atomic.Pointer[Greeting]
}

// New makes a client; it connects when it is asked for the first time.
func New(address Address, options Options) *Client {
	options.complete()
	return &Client{
		address: address,
		options: options,
		sending: make(chan struct{}, 1),
		encoder: newEncoder(),
	}
}

// Close ends the connection and all waits; later calls fail.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	l := c.link
	c.mu.Unlock()
	if l != nil {
		c.drop(l, errClosed)
	}
	return nil
}

// Incarnation is that of the server that answered last; 0: none has yet. Another one tells that it was
// restarted: facts and reservations are gone.
func (c *Client) Incarnation() uint64 { return c.Greeting().Incarnation }

// Greeting is what the server that was connected last said of itself; empty before the first.
func (c *Client) Greeting() Greeting {
	if greeting := c.greeting.Load(); greeting != nil {
		return *greeting
	}
	return Greeting{}
}

// A request builds its body.
type request func(e *encoder) (wire.Body, flatbuffers.UOffsetT)

// ask sends a request that may be sent twice and waits for its reply; again where the connection is gone, which
// fails at once where that had not answered anything (retry). The caller frees the call.
func (c *Client) ask(ctx context.Context, expected wire.Body, build request) (*call, error) {
	for again := true; ; again = false {
		sent, err := c.send(ctx, build)
		if err == nil {
			err = c.await(ctx, sent, expected)
			if err == nil {
				return sent, nil
			}
			c.recycle(sent)
		}
		if !again || !errors.Is(err, errGone) {
			return nil, err
		}
	}
}

// send writes a request, on a new connection if there is none.
func (c *Client) send(ctx context.Context, build request) (*call, error) {
	deadline := time.Now().Add(c.options.Timeout)
	if err := c.acquire(ctx, deadline); err != nil {
		return nil, unavailable(c.address, err)
	}
	defer func() { <-c.sending }()
	l, err := c.connected(ctx, deadline)
	if err != nil {
		return nil, unavailable(c.address, err)
	}
	c.encoder.reset()
	bodyType, body := build(&c.encoder)
	l.lastID++
	frame := c.encoder.frame(l.lastID, bodyType, body)
	if most := l.greeting.limit("kFrameBytesMax", defaultFrameBytesMax); len(frame)-prefixBytes > most {
		return nil, &ServerError{wire.ErrorCodeLimitExceeded,
			fmt.Sprintf("request of %d bytes: kFrameBytesMax is %d", len(frame)-prefixBytes, most)}
	}

	c.mu.Lock()
	if l.lost != nil {
		c.mu.Unlock()
		return nil, unavailable(c.address, l.lost)
	}
	sent := c.newCall(l, l.lastID, deadline)
	l.calls.push(sent)
	l.socket.hold()
	c.mu.Unlock()
	some, err := l.socket.writeAll(ctx, frame, deadline)
	l.socket.release()
	if err == nil {
		return sent, nil
	}
	if !some && ctx.Err() != nil {
		c.mu.Lock()
		if l.lost == nil {
			l.calls.unpush()
		}
		c.mu.Unlock()
		c.recycle(sent)
		return nil, unavailable(c.address, err)
	}
	// Replies that came before it say more: such as an Error about the connection.
	if errors.Is(err, errGone) {
		_ = c.wait(ctx, sent)
	}
	c.drop(l, err)
	c.mu.Lock()
	err = sent.err
	c.mu.Unlock()
	c.recycle(sent)
	return nil, unavailable(c.address, err)
}

// acquire makes this goroutine the one who sends.
func (c *Client) acquire(ctx context.Context, deadline time.Time) error {
	select {
	case c.sending <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case c.sending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errSilent
	}
}

// connected is the connection, a new one where there was none. The caller is the one who sends.
func (c *Client) connected(ctx context.Context, deadline time.Time) (*link, error) {
	c.mu.Lock()
	now := time.Now()
	l, closed, wait, reason := c.link, c.closed, c.retry.left(now), c.reason
	look := l != nil && now.Sub(l.sentAt) > quietTime && l.calls.first() == nil
	if look {
		l.socket.hold()
	}
	c.mu.Unlock()
	if l != nil {
		gone := look && l.socket.ended()
		if look {
			l.socket.release()
		}
		if !gone {
			l.sentAt = now
			return l, nil
		}
		// Before the request, which may be one that must not be sent twice.
		c.drop(l, errGone)
		wait = 0
	}
	if closed {
		return nil, errClosed
	}
	if wait > 0 {
		return nil, fmt.Errorf("next attempt in %s: %w", wait.Round(time.Millisecond), reason)
	}
	l, err := connectLink(ctx, c.address, &c.options, deadline, &c.encoder)
	if err == nil {
		l.sentAt = time.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			c.retry.failed(time.Now())
			c.reason = err
		}
		return nil, err
	}
	if c.closed {
		l.socket.close()
		return nil, errClosed
	}
	c.link = l
	c.greeting.Store(l.greeting)
	return l, nil
}

// newCall is one to use; c.mu is held.
func (c *Client) newCall(l *link, id uint64, deadline time.Time) *call {
	var made *call
	if last := len(c.free) - 1; last >= 0 {
		made, c.free = c.free[last], c.free[:last]
		select {
		case <-made.wake:
		default:
		}
	} else {
		made = &call{wake: make(chan struct{}, 1)}
	}
	made.link, made.id, made.deadline = l, id, deadline
	made.waiting, made.given, made.done, made.err = 0, false, false, nil
	return made
}

// recycle frees a call that nobody waits for.
func (c *Client) recycle(used *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if used.done || used.link.lost != nil {
		c.keep(used)
	} else {
		used.given = true
	}
}

// keep puts a call by; c.mu is held.
func (c *Client) keep(used *call) {
	if len(c.free) >= freeCallsMax {
		return
	}
	if cap(used.reply) > keptBytesMax {
		used.reply = nil
	}
	used.link = nil
	c.free = append(c.free, used)
}

// await waits for the reply of a call and opens it. An error of ctx or of the time leaves the call to
// whoever reads its reply (recycle).
func (c *Client) await(ctx context.Context, sent *call, expected wire.Body) error {
	if err := c.wait(ctx, sent); err != nil {
		return unavailable(c.address, err)
	}
	return c.read(sent, sent.open(expected))
}

// read is what came of reading a reply: a malformed one drops the connection.
func (c *Client) read(from *call, err error) error {
	if err == nil {
		return nil
	}
	var malformed *malformedError
	if !errors.As(err, &malformed) {
		return err
	}
	c.drop(from.link, err)
	return unavailable(c.address, err)
}

// end is read for whoever needs the reply no more: it is freed.
func (c *Client) end(answered *call, err error) error {
	err = c.read(answered, err)
	c.recycle(answered)
	return err
}

// wait waits until the call is done.
func (c *Client) wait(ctx context.Context, sent *call) error {
	l := sent.link
	for {
		c.mu.Lock()
		if sent.done {
			if sent.waiting > 0 {
				sent.signal()
			}
			err := sent.err
			c.mu.Unlock()
			return err
		}
		if !l.reading {
			l.reading = true
			l.socket.hold()
			c.mu.Unlock()
			err := c.receive(ctx, l, sent)
			l.socket.release()
			c.mu.Lock()
			l.reading = false
			l.wakeReader()
			done := sent.done
			c.mu.Unlock()
			if err != nil && !done {
				return err
			}
			continue
		}
		sent.waiting++
		c.mu.Unlock()
		err := sent.sleep(ctx)
		c.mu.Lock()
		sent.waiting--
		if err != nil && !sent.done {
			// It may have been chosen to read.
			if !l.reading {
				l.wakeReader()
			}
			c.mu.Unlock()
			if errors.Is(err, errSilent) {
				c.drop(l, err)
			}
			return err
		}
		c.mu.Unlock()
	}
}

// sleep waits for the reader.
func (c *call) sleep(ctx context.Context) error {
	left := time.Until(c.deadline)
	timer := time.NewTimer(max(left, pollSlice))
	defer timer.Stop()
	select {
	case <-c.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errSilent
	}
}

// wakeReader lets the first of those who wait read; Client.mu is held.
func (l *link) wakeReader() {
	for _, waiting := range l.calls.all() {
		if waiting.waiting > 0 {
			waiting.signal()
			return
		}
	}
}

// receive reads replies, until that of `until`. This goroutine is the one who reads. A connection that is
// no use any more is dropped; ctx's end leaves it.
func (c *Client) receive(ctx context.Context, l *link, until *call) error {
	now := time.Now()
	spinUntil := now.Add(c.options.Poll)
	for {
		frame, err := l.receive()
		if frame != nil {
			done := false
			if done, err = c.deliver(l, frame, until); done {
				return nil
			}
			if err == nil {
				continue
			}
		}
		if err == nil {
			c.mu.Lock()
			lost, deadline := l.lost, until.deadline
			if first := l.calls.first(); first != nil && first.deadline.Before(deadline) {
				deadline = first.deadline
			}
			c.mu.Unlock()
			if lost != nil {
				return lost
			}
			if err = l.rest(ctx, deadline, spinUntil); err == nil {
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		c.drop(l, err)
		return err
	}
}

// deliver hands a frame to the call that it answers. done: that was `until`.
func (c *Client) deliver(l *link, frame []byte, until *call) (done bool, err error) {
	defer recoverMalformed(&err)
	bodyType, err := openFrame(frame, &l.root, &l.body)
	if err != nil {
		return false, err
	}
	id := l.root.Id()
	if id == 0 {
		return false, c.heedUnasked(frame, bodyType, &l.body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.lost != nil {
		return false, l.lost
	}
	first := l.calls.first()
	if first == nil || first.id != id {
		return false, fmt.Errorf("a reply to request %d, which is not due", id)
	}
	l.calls.pop()
	if !l.answered {
		l.answered = true
		c.retry.succeeded()
	}
	if first.given {
		first.done = true
		c.keep(first)
		return false, nil
	}
	first.reply = append(first.reply[:0], frame...)
	first.finish(nil)
	return first == until, nil
}

// heedUnasked: other profiles decide from now on, or the server closes the connection.
func (c *Client) heedUnasked(frame []byte, bodyType wire.Body, body *flatbuffers.Table) error {
	switch bodyType {
	case wire.BodyHelloReply:
		greeting, err := readGreeting(frame)
		if err == nil {
			c.greeting.Store(greeting)
		}
		return err
	case wire.BodyError:
		return readError(body)
	default:
		return nil // of a later version of the protocol
	}
}

// drop gives the connection up: all calls that were not answered fail.
func (c *Client) drop(l *link, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.lost != nil {
		return
	}
	if !l.answered {
		c.retry.failed(time.Now())
	}
	l.lost = cause
	c.reason = cause
	if c.link == l {
		c.link = nil
	}
	for _, unanswered := range l.calls.all() {
		if unanswered.given {
			unanswered.done = true
			c.keep(unanswered)
		} else {
			unanswered.finish(cause)
		}
	}
	l.calls = callQueue{}
	l.socket.close()
}
