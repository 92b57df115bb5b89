package client

import (
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 10 * time.Second
)

// backoff says when to try next: at once after what worked, then after backoffFirst, doubling to backoffMax.
// Up to a half is taken off by chance, so that not all come back at once. The zero value tries at once.
type backoff struct {
	delay time.Duration
	next  time.Time
}

func (b *backoff) succeeded() { *b = backoff{} }

func (b *backoff) failed(now time.Time) {
	b.delay = min(max(2*b.delay, backoffFirst), backoffMax)
	b.next = now.Add(b.delay - time.Duration(rand.Int64N(int64(b.delay/2))))
}

// left is how long to wait; not above 0: try.
func (b *backoff) left(now time.Time) time.Duration { return b.next.Sub(now) }
