// Package schedulerperf is Kubernetes' own benchmark of kube-scheduler, test/integration/scheduler_perf, with
// Headroom's plugins compiled in. It has no workload of its own: shim/bench scheduler_perf runs it in the directory of
// one of upstream's configurations, and says by a flag which scheduler.
package schedulerperf

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"headroom.dev/shim/deferred"
	"headroom.dev/shim/plugin"
)

var (
	configuration = flag.String("configuration", "performance-config.yaml", "the workloads, as upstream writes them down")
	headroom      = flag.Bool("headroom", false, "the scheduler's profile has Headroom")
)

func TestMain(m *testing.M) {
	if err := perf.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

func BenchmarkPerfScheduling(b *testing.B) {
	registry := frameworkruntime.Registry{plugin.Name: plugin.New,
		deferred.PodTopologySpread: deferred.NewPodTopologySpread, deferred.InterPodAffinity: deferred.NewInterPodAffinity}
	perf.RunBenchmarkPerfScheduling(b, *configuration, "headroom", registry,
		perf.WithPrepareFn(func(tCtx ktesting.TContext) error {
			if *headroom {
				// Before upstream's own cleanup, which empties the counters.
				tCtx.Cleanup(func() { tCtx.ExpectNoError(reportDecided(tCtx.TB().(*testing.B))) })
			}
			return nil
		}))
}

// reportDecided reports how many cycles headroomd decided, and how many it did not. None of the first is an error.
func reportDecided(b *testing.B) error {
	counts, err := testutil.GetCounterValuesFromGatherer(legacyregistry.DefaultGatherer,
		"headroom_scheduler_cycles_total", nil, "outcome")
	if err != nil {
		return err
	}
	decided := counts["limited"] + counts["all"]
	if decided == 0 {
		return fmt.Errorf("headroomd decided none of the cycles: %v", counts)
	}
	b.ReportMetric(decided, "Headroom/decided")
	b.ReportMetric(counts["refused"]+counts["skipped"]+counts["held"], "Headroom/left")
	return nil
}
