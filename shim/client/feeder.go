package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// Refusals that are remembered so that each is logged once.
const refusalsKept = 1024

// errReplaced: another feeder feeds now.
var errReplaced = errors.New("another feeder took over")

// FeederOptions are those of a Feeder. Of Options only the Name counts: a feeder waits without polling, and
// gives a server up after silenceMax.
type FeederOptions struct {
	Options
	// Before all is sent on a new connection: of these kinds, which headroomd's profile reads, the stores are set
	// when it returns. nil where they are set anyway.
	OnReferredKinds func(context.Context, []Kind)
	// After headroomd has applied what was sent so far. At most one Stats is outstanding, so that not every
	// change has a call of its own, but the last one has. Called by one goroutine, which reads nothing meanwhile.
	OnApplied func(Stats)
	// When headroomd stopped being reachable, or was not from the beginning; once, until OnApplied.
	OnDown func(error)
	// When another feeder feeds instead.
	OnReplaced func()
	// A change that headroomd refused, or that cannot be sent: an object that it cannot use. It is as it was before.
	OnRefused func(kind Kind, key string, err *ServerError)
}

// Feeder keeps a headroomd's facts equal to the stores. Its methods may be called from any goroutine.
//
// It is level-triggered: an object that changed is marked by its key, and what it is then is read from the
// store when it is sent, so that never an older state follows a newer one. After every loss (a restart, a
// dropped connection, a gap, a new profile) it sends all anew. After another feeder has replaced it, it is
// silent until TakeOver.
type Feeder struct {
	address Address
	options FeederOptions
	clock   func() int64 // the time that the server is given, in microseconds; nil: it has its own

	mu           sync.Mutex
	stores       [kindCount]Store
	marks        marks
	feeding      bool // marks count: otherwise a resync comes, which reads all
	resyncWanted bool
	replaced     bool
	refusals     map[string]struct{}

	wake    chan struct{}
	resyncs atomic.Uint64
}

// NewFeeder makes a feeder; Run feeds.
func NewFeeder(address Address, options FeederOptions) *Feeder {
	return &Feeder{
		address:  address,
		options:  options,
		refusals: make(map[string]struct{}),
		wake:     make(chan struct{}, 1),
	}
}

// SetStore says where the objects of a kind are; nil: nowhere any more. While Run runs it leads to a resync.
func (f *Feeder) SetStore(kind Kind, store Store) {
	f.mu.Lock()
	f.stores[kind] = store
	f.resyncWanted = true
	f.mu.Unlock()
	f.signal()
}

// Mark says that the object of that key changed or went away. Its store knows already.
func (f *Feeder) Mark(kind Kind, key string) {
	f.mu.Lock()
	feeding := f.feeding
	if feeding {
		f.marks.add(kind, key)
	}
	f.mu.Unlock()
	if feeding {
		f.signal()
	}
}

// TakeOver says that this feeder is the one to feed: if another one replaced it, it feeds again.
func (f *Feeder) TakeOver() {
	f.mu.Lock()
	taken := f.replaced
	f.replaced = false
	f.mu.Unlock()
	if taken {
		f.signal()
	}
}

// Replaced tells whether another feeder took over.
func (f *Feeder) Replaced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replaced
}

// ResyncWanted tells whether other stores were set since the last resync began.
func (f *Feeder) ResyncWanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resyncWanted
}

// Resyncs counts how often all objects were sent.
func (f *Feeder) Resyncs() uint64 { return f.resyncs.Load() }

// Run feeds until ctx ends. Call it once.
func (f *Feeder) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("headroomd", f.address.String())
	var retry backoff
	down := false
	for f.awaitTurn(ctx, &retry) {
		feeding, err := openFeed(ctx, f)
		healthy := false
		if err == nil {
			if prepare := f.options.OnReferredKinds; prepare != nil {
				prepare(ctx, feeding.greeting.ReferredKinds())
			}
			healthy, err = feeding.run(ctx)
		}
		f.stop()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errReplaced):
			retry.succeeded()
			logger.Info("Another feeder feeds headroomd now; this one waits until it is to take over")
			if f.options.OnReplaced != nil {
				f.options.OnReplaced()
			}
			continue
		case healthy:
			retry.succeeded()
		default:
			retry.failed(time.Now())
		}
		if !down || healthy {
			logger.Error(err, "Lost headroomd; all facts will be sent anew")
			if f.options.OnDown != nil {
				f.options.OnDown(unavailable(f.address, err))
			}
		}
		down = true
	}
}

// awaitTurn waits until it is time to feed; false: ctx ended.
func (f *Feeder) awaitTurn(ctx context.Context, retry *backoff) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		left := retry.left(time.Now())
		if !f.Replaced() {
			if left <= 0 {
				return true
			}
			timer := time.NewTimer(left)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		}
	}
}

// begin starts a resync: what was marked until now will be read from the stores.
func (f *Feeder) begin() [kindCount]Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks.clear()
	f.feeding = true
	f.resyncWanted = false
	return f.stores
}

// stop ends the feeding: marks do not count until the next resync.
func (f *Feeder) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.feeding = false
	f.marks.clear()
}

// next is what to send, at most so many.
func (f *Feeder) next(out []mark, most int) (taken []mark, stores [kindCount]Store, resync bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resyncWanted {
		return out, f.stores, true
	}
	return f.marks.take(out, most), f.stores, false
}

func (f *Feeder) setReplaced() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaced = true
}

func (f *Feeder) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// refused tells of an object that cannot be used.
func (f *Feeder) refused(logger klog.Logger, which change, err *ServerError) {
	f.mu.Lock()
	_, known := f.refusals[err.Message]
	if !known {
		if len(f.refusals) >= refusalsKept {
			clear(f.refusals)
		}
		f.refusals[err.Message] = struct{}{}
	}
	f.mu.Unlock()
	if !known {
		logger.Error(err, "An object was refused, and stays as it was before", "kind", which.kind, "object", which.key())
	}
	if f.options.OnRefused != nil {
		f.options.OnRefused(which.kind, which.key(), err)
	}
}
