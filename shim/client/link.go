package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	"golang.org/x/sys/unix"

	"headroom.dev/shim/wire"
)

// errSilent: the server is too slow, or hangs.
var errSilent = errors.New("no answer in time")

// link is one connection of a Client.
type link struct {
	socket   *socket
	frames   frameBuffer // of the one who reads
	greeting *Greeting
	lastID   uint64 // of the one who sends
	sentAt   time.Time

	// Guarded by Client.mu.
	calls    callQueue // sent and not answered, in order
	reading  bool      // somebody reads, and hands on what is others'
	answered bool      // a request after the hello
	lost     error     // why it is no use any more

	root wire.Frame
	body flatbuffers.Table
}

// connectLink connects and says hello, within the deadline.
func connectLink(ctx context.Context, address Address, options *Options, deadline time.Time, e *encoder) (*link, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	s, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	l := &link{socket: s, lastID: 1}
	e.reset()
	hello := encodeHello(e, options.Name, options.SchedulerName)
	if _, err = s.writeAll(ctx, e.frame(l.lastID, wire.BodyHello, hello), deadline); err == nil {
		l.greeting, err = l.greet(ctx, deadline, options.Poll)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("hello: %w", err)
	}
	l.frames.max = l.greeting.limit("kFrameBytesMax", defaultFrameBytesMax)
	return l, nil
}

func (l *link) greet(ctx context.Context, deadline time.Time, poll time.Duration) (*Greeting, error) {
	spinUntil := time.Now().Add(poll)
	for {
		frame, err := l.receive()
		if err != nil {
			return nil, err
		}
		if frame != nil {
			return readGreeting(frame)
		}
		if err := l.rest(ctx, deadline, spinUntil); err != nil {
			return nil, err
		}
	}
}

// receive is the next frame if it is there already.
func (l *link) receive() ([]byte, error) {
	for {
		frame, err := l.frames.next()
		if frame != nil || err != nil {
			return frame, err
		}
		count, err := l.socket.read(l.frames.room())
		if count == 0 || err != nil {
			return nil, err
		}
		l.frames.received(count)
	}
}

// rest passes some time before the next look at the socket: none until `spinUntil`.
func (l *link) rest(ctx context.Context, deadline, spinUntil time.Time) error {
	now := time.Now()
	if now.Before(spinUntil) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	left := deadline.Sub(now)
	if left <= 0 {
		return errSilent
	}
	l.socket.sleep(unix.POLLIN, left)
	return nil
}
