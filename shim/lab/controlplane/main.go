// A real control plane for tests and benchmarks, in one program: the first argument says which
// part to be, the others are its flags.
//
//	controlplane etcd FLAGS
//	controlplane apiserver FLAGS
//	controlplane scheduler FLAGS   stock kube-scheduler
//
// One program, because the parts share most of what has to be compiled and linked.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|apiserver|scheduler FLAGS")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "controlplane: no part %q; there are: etcd apiserver scheduler\n", part)
		os.Exit(2)
	}
}
