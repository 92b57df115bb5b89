// Bench measures what Headroom in kube-scheduler costs, beside stock kube-scheduler in the same run. Every
// row checks its own answers first: all pods have a node with room for them, and where Headroom decides it
// is a best one by the engine's rules.
//
//	go run ./bench all                       all tables, at their usual sizes
//	go run ./bench cycle -nodes 5000 -variants stock,headroom_16
//
// Linux only. It needs what shim/lab needs: controlplane and headroomd, and kube-scheduler-headroom for `pods`,
// and helm for `scheduler_perf`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/klog/v2"
)

// options of all subcommands.
type options struct {
	nodes, cores, endToEnd []int
	pods, warmUp, perNode  int
	seconds                float64
	regretNodes            int
	failoverNodes          int
	failoverPods           int
	clientNodes            int
	rounds                 int
	match                  *regexp.Regexp // workloads of scheduler_perf
	full                   bool
	page                   string
	seed                   uint64
	variants               []string // empty: all
	profile                string
	json                   string
}

func (o options) wants(v variant) bool {
	return len(o.variants) == 0 || slices.Contains(o.variants, v.name)
}

type subcommand struct {
	name string
	run  func(context.Context, options) (*table, error)
}

var subcommands = []subcommand{{"cycle", cycle}, {"pods", podsEndToEnd}, {"client", roundTrip}, {"failover", failover},
	{"regret", regret}, {"scheduler_perf", schedulerPerf}}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, to io.Writer) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	quiet()
	if len(args) == 1 && args[0] == childCommand {
		return runChild(ctx)
	}
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	chosen := slices.DeleteFunc(slices.Clone(subcommands), func(s subcommand) bool { return name != "all" && s.name != name })
	if len(chosen) == 0 {
		return fmt.Errorf("subcommand: %q is none of cycle, pods, client, failover, regret, scheduler_perf, all", name)
	}
	o, err := readOptions(args, os.Stderr)
	if err != nil {
		return err
	}
	head := newHeader(o.seed)
	fmt.Fprintln(to, head)
	var tables []*table
	for _, s := range chosen {
		t, err := s.run(ctx, o)
		if t != nil {
			t.print(to)
			tables = append(tables, t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if o.json == "" {
		return nil
	}
	file, err := os.Create(o.json)
	if err != nil {
		return err
	}
	return errors.Join(printJSON(file, head, tables), file.Close())
}

func readOptions(args []string, to io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(to)
	o.nodes, o.cores, o.endToEnd = []int{5_000, 20_000, 50_000}, []int{1, 2}, []int{1_000, 5_000}
	flags.Var((*integers)(&o.nodes), "nodes", "cycle: sizes of the cluster")
	flags.Var((*integers)(&o.cores), "cores", "cycle: processors for scheduler and headroomd together")
	flags.Var((*integers)(&o.endToEnd), "sizes", "pods: sizes of the cluster")
	flags.IntVar(&o.pods, "pods", 2_000, "cycle, pods, regret: pods to schedule")
	flags.IntVar(&o.warmUp, "warm-up", 200, "cycle: pods before those that are measured")
	flags.IntVar(&o.perNode, "per-node", 0, "cycle: pods that run on each node already")
	flags.Float64Var(&o.seconds, "seconds", 8, "cycle: a row ends after so long, if not out of pods")
	flags.IntVar(&o.regretNodes, "regret-nodes", 5_000, "regret: size of the cluster")
	flags.IntVar(&o.clientNodes, "client-nodes", 50_000, "client: size of the cluster")
	flags.IntVar(&o.failoverNodes, "failover-nodes", 20_000, "failover: nodes")
	flags.IntVar(&o.failoverPods, "failover-pods", 200_000, "failover: pods on them")
	flags.IntVar(&o.rounds, "rounds", 1, "scheduler_perf: runs of each workload with each scheduler")
	flags.BoolVar(&o.full, "full", false, "scheduler_perf: the sizes that upstream holds to a floor; hours")
	flags.StringVar(&o.page, "page", "", "scheduler_perf: write the table into this page of the repository, too")
	match := flags.String("match", "", "scheduler_perf: only workloads that this regular expression finds; empty: all")
	flags.Uint64Var(&o.seed, "seed", 1, "of clusters and pods")
	flags.StringVar(&o.profile, "profile", "", "cycle: write the processor profile of the last row's scheduler here")
	flags.StringVar(&o.json, "json", "", "write the tables to this file, too")
	names := flags.String("variants", "", "cycle, pods: only these schedulers; empty: all")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("rounds: %d is not above 0", o.rounds)
	}
	if o.match, err = regexp.Compile(*match); err != nil {
		return o, fmt.Errorf("match: %w", err)
	}
	if *names != "" {
		o.variants = strings.Split(*names, ",")
	}
	for _, name := range o.variants {
		if _, err := findVariant(name); err != nil {
			return o, err
		}
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument: %q is not expected", flags.Arg(0))
	}
	return o, nil
}

// integers are a flag's value: 1000,5000.
type integers []int

func (i *integers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*i)), " ", ","), "[]")
}

func (i *integers) Set(text string) error {
	*i = nil
	for _, part := range strings.Split(text, ",") {
		value, err := strconv.Atoi(part)
		if err != nil || value < 1 {
			return fmt.Errorf("%q is not a number above 0", part)
		}
		*i = append(*i, value)
	}
	return nil
}

// quiet lets only errors of the scheduler's log through.
func quiet() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
