package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
	"headroom.dev/shim/wire"
)

// judge is a headroomd of its own that hears of all facts and decisions, whoever decides, and says what
// they are worth by its rules.
type judge struct {
	name   string
	daemon *lab.Headroomd
	client *client.Client
	cancel context.CancelFunc
	ended  chan struct{} // closed when the feeder has ended
	best   client.Decision
	regret regretSum
}

// judgedTopK: a scheduler with Headroom chooses one of so many, and then one question is enough.
const judgedTopK = 16

type regretSum struct {
	pods int
	// Of those on a node that a filter of the judge's profile, unknown to the one who chose, rejects.
	infeasible       int
	best, lost, most int64 // totals of the others; most: the largest loss
}

// newJudge knows the cluster when it returns. Close it.
func newJudge(ctx context.Context, l *lab.Lab, name string, scores []lab.Plugin, c *cluster) (*judge, error) {
	daemon, err := startDaemon(ctx, l, scores)
	if err != nil {
		return nil, err
	}
	address, err := client.ParseAddress(daemon.Address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	j := &judge{name: name, daemon: daemon, cancel: cancel, ended: make(chan struct{}),
		client: client.New(address, client.Options{Name: "judge", Timeout: feedPatience})}
	feeder := newFeeder(address, c, nil)
	go func() {
		defer close(j.ended)
		feeder.Run(ctx)
	}()
	return j, lab.Eventually(ctx, feedPatience, func() error { return daemon.Ready(ctx) })
}

// newFeeder of a headroomd with the cluster; applied may be nil.
func newFeeder(address client.Address, c *cluster, applied func(client.Stats)) *client.Feeder {
	feeder := client.NewFeeder(address, client.FeederOptions{Options: client.Options{Name: "bench"}, OnApplied: applied})
	feeder.SetStore(client.Nodes, storeOf(c.nodes))
	feeder.SetStore(client.NodeMetrics, storeOf(c.metrics))
	feeder.SetStore(client.Pods, storeOf(c.running))
	return feeder
}

func (j *judge) close(l *lab.Lab) error {
	j.cancel()
	<-j.ended
	err := j.client.Close()
	l.Forget(j.daemon.Process)
	return err
}

// weigh holds the node that was chosen for the pod against the best one, in the state before the pod is
// there, and puts it there.
func (j *judge) weigh(ctx context.Context, pod *v1.Pod, node string) error {
	if err := j.client.Evaluate(ctx, pod, client.EvaluateOptions{TopK: judgedTopK}, &j.best); err != nil {
		return fmt.Errorf("judge %s: %w", j.name, err)
	}
	if len(j.best.Candidates) == 0 {
		return fmt.Errorf("judge %s: no node is feasible, but %s was chosen", j.name, node)
	}
	total, feasible, err := j.totalOf(ctx, pod, node)
	if err != nil {
		return fmt.Errorf("judge %s: %w", j.name, err)
	}
	j.regret.pods++
	if !feasible {
		// The pod cannot be reserved there: the judge goes on without it.
		j.regret.infeasible++
		return nil
	}
	best := j.best.Candidates[0].Total
	if total > best {
		return fmt.Errorf("judge %s: %s has a total of %d, above the best, %d of %s", j.name, node, total,
			best, j.best.Candidates[0].Node)
	}
	j.regret.best += best
	j.regret.lost += best - total
	j.regret.most = max(j.regret.most, best-total)
	reservation, err := j.client.Reserve(ctx, pod, node)
	if err == nil {
		err = j.client.Await(ctx, reservation)
	}
	if err != nil {
		return fmt.Errorf("judge %s: %w", j.name, err)
	}
	return nil
}

// totalOf the node in the state of the last answer.
func (j *judge) totalOf(ctx context.Context, pod *v1.Pod, node string) (total int64, feasible bool, err error) {
	for i := range j.best.Candidates {
		if j.best.Candidates[i].Node == node {
			return j.best.Candidates[i].Total, true, nil
		}
	}
	answer, err := j.client.EvaluateNodes(ctx, pod, client.NodesRequest{})
	if err != nil {
		return 0, false, err
	}
	chosen, known := answer.Nodes[node]
	return chosen.Total, known && chosen.Verdict.Code == wire.CodeSuccess, nil
}
