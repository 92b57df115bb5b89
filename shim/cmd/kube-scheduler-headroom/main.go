// kube-scheduler with Headroom's plugins compiled in. Everything else is stock: flags, configuration, metrics,
// leader election.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"headroom.dev/shim/deferred"
	"headroom.dev/shim/plugin"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(
		app.WithPlugin(plugin.Name, plugin.New),
		app.WithPlugin(deferred.PodTopologySpread, deferred.NewPodTopologySpread),
		app.WithPlugin(deferred.InterPodAffinity, deferred.NewInterPodAffinity),
	)))
}
