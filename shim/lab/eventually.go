package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const eventuallyInterval = 50 * time.Millisecond

// Eventually asks again and again until condition is nil; its last error when that took too long.
func Eventually(ctx context.Context, within time.Duration, condition func() error) error {
	deadline := time.Now().Add(within)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", within, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(eventuallyInterval):
		}
	}
}

// workers of one parallel loop: what an API server on two cores takes.
const workers = 32

// parallel calls task for 0 to n-1 and gives the first error, after which it begins no more.
func parallel(ctx context.Context, n int, task func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for i := range next {
				if err := task(i); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}
