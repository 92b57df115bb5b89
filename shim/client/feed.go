package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"headroom.dev/shim/wire"
)

const (
	// The server turns to others between frames.
	changesPerFacts = 64
	// Of a Facts frame, beside its changes.
	factsOverhead = 4096
	// A server that takes nothing, or does not answer, for so long is given up.
	silenceMax = 30 * time.Second
)

// change is one object to send.
type change struct {
	kind            Kind
	namespace, name string
	object          any // nil: it is gone
}

func (c *change) key() string {
	if c.namespace == "" {
		return c.name
	}
	return c.namespace + "/" + c.name
}

// feed is one connection of a Feeder. One goroutine sends (run), another reads.
type feed struct {
	feeder     *Feeder
	logger     klog.Logger
	connection net.Conn
	greeting   *Greeting
	frames     frameBuffer // of the one who reads
	stopped    chan struct{}
	answered   chan struct{} // a Stats was, and another is wanted

	// Of the one who sends.
	encoder  encoder
	frameID  uint64
	sequence uint64
	bytesMax int

	mu      sync.Mutex
	sent    []sentFacts // in order, since the last answered Stats
	asked   bool        // a Stats is outstanding
	wanted  bool        // another one is to follow
	healthy bool        // a resync was answered
	err     error
}

// sentFacts are the changes of a frame, by their places, so that a refusal can be told.
type sentFacts struct {
	id      uint64
	changes []change // without their objects
}

// openFeed connects and says hello.
func openFeed(ctx context.Context, f *Feeder) (*feed, error) {
	ctx, cancel := context.WithTimeout(ctx, silenceMax)
	defer cancel()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, f.address.Network, f.address.Path)
	if err != nil {
		return nil, err
	}
	s := &feed{
		feeder:     f,
		logger:     klog.FromContext(ctx).WithValues("headroomd", f.address.String()),
		connection: connection,
		stopped:    make(chan struct{}),
		answered:   make(chan struct{}, 1),
		encoder:    newEncoder(),
	}
	if err := s.greet(ctx); err != nil {
		connection.Close()
		return nil, fmt.Errorf("hello: %w", err)
	}
	return s, nil
}

func (s *feed) greet(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.connection.Close() })()
	if err := s.send(wire.BodyHello, encodeHello(&s.encoder, s.feeder.options.Name, "")); err != nil {
		return err
	}
	frame, err := s.receive()
	if err != nil {
		return err
	}
	if s.greeting, err = readGreeting(frame); err != nil {
		return err
	}
	s.bytesMax = s.greeting.limit("kFrameBytesMax", defaultFrameBytesMax)
	s.frames.max = s.bytesMax
	return nil
}

// run feeds until ctx ends or the connection is no use. healthy: it was for some time.
func (s *feed) run(ctx context.Context) (healthy bool, err error) {
	defer context.AfterFunc(ctx, func() { s.fail(ctx.Err()) })()
	var reader sync.WaitGroup
	reader.Go(s.read)
	s.fail(s.write(ctx))
	reader.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.healthy, s.err
}

// fail ends the connection; the first reason counts.
func (s *feed) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	close(s.stopped)
	s.connection.Close()
}

// write sends all that is there, then what is marked, until that fails.
func (s *feed) write(ctx context.Context) error {
	if err := s.resync(); err != nil {
		return err
	}
	var taken []mark
	batch := make([]change, 0, changesPerFacts)
	for {
		marked, stores, resync := s.feeder.next(taken[:0], changesPerFacts)
		taken = marked
		if resync {
			if err := s.resync(); err != nil {
				return err
			}
			continue
		}
		if len(marked) == 0 {
			select {
			case <-s.feeder.wake:
			case <-s.answered:
				if err := s.askStats(); err != nil {
					return err
				}
			case <-s.stopped:
				return nil
			}
			continue
		}
		batch = batch[:0]
		for _, m := range marked {
			if now, ok := s.current(m, stores[m.kind]); ok {
				batch = append(batch, now)
			}
		}
		if err := s.sendChanges(batch); err != nil {
			return err
		}
		clear(batch)
		if err := s.askStats(); err != nil {
			return err
		}
	}
}

// current is what a marked object is now.
func (s *feed) current(m mark, store Store) (change, bool) {
	if store == nil {
		return change{}, false
	}
	object, exists, err := store.GetByKey(m.key)
	if err != nil {
		s.logger.Error(err, "An object cannot be read", "kind", m.kind, "object", m.key)
		return change{}, false
	}
	namespace, name, namespaced := strings.Cut(m.key, "/")
	if !namespaced {
		namespace, name = "", m.key
	}
	now := change{kind: m.kind, namespace: namespace, name: name}
	if exists {
		now.object = object
	}
	return now, true
}

// resync sends everything. What is marked from now on is sent after it.
func (s *feed) resync() error {
	stores := s.feeder.begin()
	s.sequence = 0
	s.encoder.reset()
	wire.FeedBeginStart(s.encoder.b)
	wire.FeedBeginAddIncarnation(s.encoder.b, s.greeting.Incarnation)
	wire.FeedBeginAddNowUs(s.encoder.b, s.feeder.now())
	if err := s.send(wire.BodyFeedBegin, wire.FeedBeginEnd(s.encoder.b)); err != nil {
		return err
	}
	batch := make([]change, 0, changesPerFacts)
	for kind, store := range stores {
		if store == nil {
			continue
		}
		for _, object := range store.List() {
			named, ok := object.(metav1.Object)
			if !ok {
				s.logger.Error(nil, "Not an object", "kind", Kind(kind), "type", fmt.Sprintf("%T", object))
				continue
			}
			batch = append(batch, change{Kind(kind), named.GetNamespace(), named.GetName(), object})
			if len(batch) < changesPerFacts {
				continue
			}
			if err := s.sendChanges(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := s.sendChanges(batch); err != nil {
		return err
	}
	s.encoder.reset()
	wire.FeedEndStart(s.encoder.b)
	wire.FeedEndAddSequence(s.encoder.b, s.sequence)
	if err := s.send(wire.BodyFeedEnd, wire.FeedEndEnd(s.encoder.b)); err != nil {
		return err
	}
	s.feeder.resyncs.Add(1)
	return s.askStats()
}

// sendChanges sends a batch as one frame, or as more where it is too large for one.
func (s *feed) sendChanges(batch []change) error {
	e := &s.encoder
	e.reset()
	begin := e.mark()
	changes := make([]change, 0, len(batch))
	var refusals []refusal
	for _, c := range batch {
		depth := e.mark()
		var offset flatbuffers.UOffsetT
		var err error
		if c.object == nil {
			offset = e.removed(c.kind, c.namespace, c.name)
		} else if offset, err = e.upsert(c.kind, c.object); err != nil {
			e.offsets = e.offsets[:depth]
			refusals = append(refusals, refusal{c, &ServerError{wire.ErrorCodeInvalid,
				fmt.Sprintf("%s %s: %s", c.kind, c.key(), err)}})
			continue
		}
		if size := int(e.b.Offset()); size > s.bytesMax-factsOverhead {
			if len(batch) > 1 {
				half := len(batch) / 2
				if err := s.sendChanges(batch[:half]); err != nil {
					return err
				}
				return s.sendChanges(batch[half:])
			}
			e.offsets = e.offsets[:depth]
			refusals = append(refusals, refusal{c, &ServerError{wire.ErrorCodeLimitExceeded,
				fmt.Sprintf("%s %s: %d bytes: kFrameBytesMax is %d", c.kind, c.key(), size, s.bytesMax)}})
			continue
		}
		e.push(offset)
		changes = append(changes, change{c.kind, c.namespace, c.name, nil})
	}
	for _, r := range refusals {
		s.feeder.refused(s.logger, r.change, r.err)
	}
	if len(changes) == 0 {
		return nil
	}
	list := e.vector(begin)
	s.sequence++
	wire.FactsStart(e.b)
	wire.FactsAddSequence(e.b, s.sequence)
	wire.FactsAddChanges(e.b, list)
	wire.FactsAddNowUs(e.b, s.feeder.now())
	wire.FactsAddSentUs(e.b, time.Now().UnixMicro())
	facts := wire.FactsEnd(e.b)
	s.mu.Lock()
	s.sent = append(s.sent, sentFacts{s.frameID + 1, changes})
	s.mu.Unlock()
	return s.send(wire.BodyFacts, facts)
}

type refusal struct {
	change change
	err    *ServerError
}

// askStats asks what has been applied, unless that was asked already and not answered.
func (s *feed) askStats() error {
	s.mu.Lock()
	s.wanted = s.asked
	ask := !s.asked
	if ask {
		s.asked = true
		_ = s.connection.SetReadDeadline(time.Now().Add(silenceMax))
	}
	s.mu.Unlock()
	if !ask {
		return nil
	}
	s.encoder.reset()
	return s.send(wire.BodyStats, encodeStats(&s.encoder, StatsOptions{}))
}

// send writes the frame that was built.
func (s *feed) send(bodyType wire.Body, body flatbuffers.UOffsetT) error {
	s.frameID++
	_ = s.connection.SetWriteDeadline(time.Now().Add(silenceMax))
	_, err := s.connection.Write(s.encoder.frame(s.frameID, bodyType, body))
	return err
}

// receive waits for the next frame.
func (s *feed) receive() ([]byte, error) {
	for {
		frame, err := s.frames.next()
		if frame != nil || err != nil {
			return frame, err
		}
		count, err := s.connection.Read(s.frames.room())
		s.frames.received(count)
		if err != nil && count == 0 {
			return nil, err
		}
	}
}

// read heeds what the server says, until the connection fails.
func (s *feed) read() {
	for {
		frame, err := s.receive()
		if err == nil {
			err = s.heed(frame)
		}
		if err != nil {
			s.fail(err)
			return
		}
	}
}

func (s *feed) heed(frame []byte) (err error) {
	defer recoverMalformed(&err)
	var root wire.Frame
	var body flatbuffers.Table
	bodyType, err := openFrame(frame, &root, &body)
	if err != nil {
		return err
	}
	switch bodyType {
	case wire.BodyStatsReply:
		return s.heedStats(root.Id(), &body)
	case wire.BodyError:
		var failure wire.Error
		failure.Init(body.Bytes, body.Pos)
		return s.heedError(root.Id(), int(failure.Change()), readError(&body))
	case wire.BodyFeedStopped:
		var stop wire.FeedStopped
		stop.Init(body.Bytes, body.Pos)
		if stop.Why() == wire.FeedStopReplaced {
			s.feeder.setReplaced()
			return errReplaced
		}
		return fmt.Errorf("the feeding was stopped: %s: %s", stop.Why(), stop.Message())
	}
	if root.Id() == 0 {
		return nil // of a later version of the protocol
	}
	return &unexpectedBody{bodyType, wire.BodyStatsReply}
}

func (s *feed) heedStats(id uint64, body *flatbuffers.Table) error {
	stats, err := readStats(body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	unasked := !s.asked
	s.asked = false
	again := s.wanted
	s.wanted = false
	s.healthy = true
	s.heededUntil(id)
	_ = s.connection.SetReadDeadline(time.Time{})
	s.mu.Unlock()
	if unasked {
		return errors.New("a StatsReply that is not due")
	}
	if again {
		select {
		case s.answered <- struct{}{}:
		default:
		}
	}
	if s.feeder.options.OnApplied != nil {
		s.feeder.options.OnApplied(stats)
	}
	return nil
}

// heededUntil forgets the changes of frames before that one: refusals come in the order of the frames. s.mu
// is held.
func (s *feed) heededUntil(id uint64) {
	for len(s.sent) > 0 && s.sent[0].id < id {
		s.sent[0] = sentFacts{} // its changes would stay as long as the array
		s.sent = s.sent[1:]
	}
}

// heedError: a change that was refused is told of; anything else takes a resync.
func (s *feed) heedError(id uint64, place int, failure *ServerError) error {
	if id == 0 || place < 0 {
		return failure
	}
	s.mu.Lock()
	s.heededUntil(id)
	var which *change
	if len(s.sent) > 0 && s.sent[0].id == id && place < len(s.sent[0].changes) {
		which = &s.sent[0].changes[place]
	}
	s.mu.Unlock()
	if which == nil {
		return fmt.Errorf("change %d of frame %d, which was not sent, was refused: %w", place, id, failure)
	}
	s.feeder.refused(s.logger, *which, failure)
	return nil
}

// now is the time that the server is given; 0: it has its own.
func (f *Feeder) now() int64 {
	if f.clock == nil {
		return 0
	}
	return f.clock()
}
