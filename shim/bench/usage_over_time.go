package main

import (
	"context"
	"sync"
	"time"

	"headroom.dev/shim/lab"
)

// usageLook is how often the processor time of a process is read: often against what is measured, which takes seconds.
const usageLook = 100 * time.Millisecond

// usageOverTime is the processor time of a process, as it grew. The zero value is that of no process. Not safe for
// concurrent use.
type usageOverTime struct {
	at   []time.Time
	used []time.Duration
	err  error
	// Ends the reading, and awaits its end.
	end    context.CancelFunc
	reader sync.WaitGroup
}

// watchUsage reads it until stop.
func watchUsage(ctx context.Context, process *lab.Process) *usageOverTime {
	u := &usageOverTime{}
	ctx, u.end = context.WithCancel(ctx)
	u.reader.Go(func() {
		for ctx.Err() == nil {
			usage, err := process.Usage()
			if err != nil {
				u.err = err
				return
			}
			u.at, u.used = append(u.at, time.Now()), append(u.used, usage.CPU)
			select {
			case <-ctx.Done():
			case <-time.After(usageLook):
			}
		}
	})
	return u
}

// stop ends the reading. The error is that of a process that ended before.
func (u *usageOverTime) stop() error {
	if u.end == nil {
		return nil
	}
	u.end()
	u.reader.Wait()
	return u.err
}

// between two times, as of the first readings after each.
func (u *usageOverTime) between(begin, end time.Time) time.Duration {
	return u.by(end) - u.by(begin)
}

func (u *usageOverTime) by(when time.Time) time.Duration {
	for i, at := range u.at {
		if !at.Before(when) {
			return u.used[i]
		}
	}
	if len(u.used) == 0 {
		return 0
	}
	return u.used[len(u.used)-1]
}
