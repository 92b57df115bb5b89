package check

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"headroom.dev/shim/lab"
)

// at is a pod as if it had been scheduled to that node.
func at(node, name string, options ...lab.PodOption) v1.Pod {
	pod := lab.Pod("ns", name, options...)
	pod.Spec.NodeName = node
	return *pod
}

func cpus(request, limit string) lab.PodOption {
	return func(p *v1.Pod) {
		lab.Request("cpu", request)(p)
		lab.Limit("cpu", limit)(p)
	}
}

func list(name v1.ResourceName, quantity string) v1.ResourceList {
	return v1.ResourceList{name: resource.MustParse(quantity)}
}

var began = time.Unix(1_800_000_000, 0)

// Each rule once just kept and once just broken; "" is kept.
func TestEachRuleFindsWhatBreaksIt(t *testing.T) {
	limited := Rules{LimitRatios: map[v1.ResourceName]int64{"cpu": 150}}
	load := Rules{Load: &Load{Thresholds: map[v1.ResourceName]int64{"cpu": 50}, Expiration: time.Minute, FilterExpired: true, Began: began}}
	nodes := func(nodes ...*v1.Node) (all []v1.Node) {
		for _, n := range nodes {
			all = append(all, *n)
		}
		return
	}
	pair := nodes(lab.Node("n", lab.Zone("z")), lab.Node("o", lab.Zone("z")))
	sidecar := func(p *v1.Pod) {
		always := v1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []v1.Container{
			{Name: "a", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: list("cpu", "3")}},
			{Name: "b", Resources: v1.ResourceRequirements{Requests: list("cpu", "5")}}}
		p.Spec.Overhead = list("cpu", "1m")
	}
	apart := func(p *v1.Pod) {
		lab.PodLabel("app", "x")(p)
		lab.ApartFrom(v1.LabelTopologyZone, "app", "x")(p)
	}
	spread := func(p *v1.Pod) {
		lab.PodLabel("app", "x")(p)
		lab.Spread(v1.LabelHostname, 1, "app", "x")(p)
	}
	for _, test := range []struct {
		name    string
		cluster Cluster
		want    string
	}{
		{"no node", Cluster{Nodes: pair, Pods: []v1.Pod{at("gone", "p")}}, "node: pod ns/p: its node gone does not exist"},
		{"not tried", Cluster{Nodes: pair, Pods: []v1.Pod{at("", "p")}}, "lost: pod ns/p: it has neither"},
		{"lost", Cluster{Nodes: pair, Rules: Rules{Created: []Name{{"ns", "p"}}}}, "lost: pod ns/p: it was created"},
		{"evicted", Cluster{Nodes: pair, Rules: Rules{Created: []Name{{"ns", "p"}}, Evicted: []Name{{"ns", "p"}}}}, ""},
		{"requests fit", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("4", "9")), at("n", "q", cpus("4", "9"))}}, ""},
		{"requests", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("4", "9")), at("n", "q", cpus("4001m", "9"))}}, "requests: node n: cpu: its 2 pods request 8001 of 8000"},
		{"sidecars", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("5", "9"), sidecar)}}, "request 8001 of 8000"},
		{"pods", Cluster{Nodes: nodes(lab.Node("n", lab.Allocatable("pods", "1"))), Pods: []v1.Pod{at("n", "p"), at("n", "q")}}, "requests: node n: 2 pods of 1"},
		{"limits fit", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("1", "12"))}, Rules: limited}, ""},
		{"limits", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("1", "12001m"))}, Rules: limited}, "limits: node n: cpu: its pods' limits are 12001 of 12000"},
		{"limits of a daemon", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("1", "99"), lab.OwnedBy("DaemonSet", "d"))}, Rules: limited}, ""},
		{"limits by annotation", Cluster{Nodes: nodes(lab.Node("n", lab.NodeAnnotation(limitAnnotation, `{"cpu": "125%"}`))), Pods: []v1.Pod{at("n", "p", cpus("1", "11"))}, Rules: limited}, "limits are 11000 of 10000 (125%"},
		{"limits by a bad annotation", Cluster{Nodes: nodes(lab.Node("n", lab.NodeAnnotation(limitAnnotation, `{"cpu": "125"}`))), Pods: []v1.Pod{at("n", "p", cpus("1", "12"))}, Rules: limited}, ""},
		{"taint", Cluster{Nodes: nodes(lab.Node("n", lab.Taint("k", "v", v1.TaintEffectNoSchedule))), Pods: []v1.Pod{at("n", "p")}}, "taint: pod ns/p: it does not tolerate k=v:NoSchedule"},
		{"tolerated", Cluster{Nodes: nodes(lab.Node("n", lab.Taint("k", "v", v1.TaintEffectNoSchedule))), Pods: []v1.Pod{at("n", "p", lab.Tolerate("k", ""))}}, ""},
		{"cordon", Cluster{Nodes: nodes(lab.Node("n", lab.Cordoned())), Pods: []v1.Pod{at("n", "p")}}, "taint: pod ns/p"},
		{"selector", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.SelectZone("y"))}}, "node selector: pod ns/p"},
		{"name", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.RequireNodeName("o"))}}, "node selector: pod ns/p"},
		{"selected", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.SelectZone("z"), lab.RequireNodeName("n"))}}, ""},
		{"host port", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.HostPort(80)), at("n", "q", lab.HostPort(80))}}, "host port: node n: 80 TCP of pod ns/p and pod ns/q"},
		{"host ports", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.HostPort(80)), at("n", "q", lab.HostPort(81)), at("o", "r", lab.HostPort(80))}}, ""},
		{"anti-affinity", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", apart), at("o", "q", lab.PodLabel("app", "x"))}}, "anti-affinity: pod ns/p: pod ns/q is in the same"},
		{"affinity", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.BesidePods(v1.LabelHostname, "app", "x")), at("o", "q", lab.PodLabel("app", "x"))}}, "affinity: pod ns/p"},
		{"affinity met", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", lab.BesidePods(v1.LabelTopologyZone, "app", "x")), at("o", "q", lab.PodLabel("app", "x"))}}, ""},
		{"spread", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", spread), at("n", "q", spread)}}, "spread: pod ns/p: 2 pods in its"},
		{"spread out", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", spread), at("n", "q", spread), at("o", "r", spread)}}, ""},
		{"usage", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p")}, NodeMetrics: []NodeMetric{{"n", began, list("cpu", "4")}}, Rules: load}, "usage: pod ns/p: node n uses 4000 of 8000 cpu"},
		{"low usage", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p")}, NodeMetrics: []NodeMetric{{"n", began, list("cpu", "3999m")}}, Rules: load}, ""},
		{"silent", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p")}, NodeMetrics: []NodeMetric{{"n", began.Add(-time.Minute), list("cpu", "1")}}, Rules: load}, "usage: pod ns/p: node n has reported nothing"},
		{"quota max", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("2", "2"))}, ElasticQuotas: []ElasticQuota{{"ns", "q", list("cpu", "9"), list("cpu", "1999m")}}, Rules: Rules{ElasticQuotas: true}}, "quota max: quota ns/q: cpu: used 2000 of 1999"},
		{"quota min", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("2", "2"))}, ElasticQuotas: []ElasticQuota{{"ns", "q", list("cpu", "1"), nil}}, Rules: Rules{ElasticQuotas: true}}, "quota min: all quotas: cpu: together they use 2000, their min are 1000"},
		{"quota kept", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("2", "2"))}, ElasticQuotas: []ElasticQuota{{"ns", "q", list("cpu", "2"), list("cpu", "2")}, {"ns", "r", nil, list("cpu", "0")}}, Rules: Rules{ElasticQuotas: true}}, ""},
		{"foreign", Cluster{Nodes: pair, Pods: []v1.Pod{at("n", "p", cpus("9", "9"), lab.SelectZone("y"))}, Rules: Rules{Foreign: func(*v1.Pod) bool { return true }}}, ""},
	} {
		found := Text(Check(test.cluster))
		if test.want == "" && found != "" || !strings.Contains(found, test.want) {
			t.Errorf("%s: found %q, want %q", test.name, found, test.want)
		}
	}
}

func TestStranded(t *testing.T) {
	waiting := func(name string, options ...lab.PodOption) v1.Pod {
		pod := at("", name, options...)
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: "why"}}
		return pod
	}
	cluster := Cluster{Nodes: []v1.Node{*lab.Node("n"), *lab.Node("o")}, Pods: []v1.Pod{
		at("n", "p", cpus("7", "7")), at("o", "q", cpus("6", "6")), waiting("two", cpus("2", "2")), waiting("three", cpus("3", "3"))}}
	found := Text(Stranded(cluster))
	if found != "stranded: pod ns/two: node o takes it; the scheduler says: why\n" {
		t.Errorf("found %q", found)
	}
}
