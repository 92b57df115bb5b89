package main

import (
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"sigs.k8s.io/yaml"

	"headroom.dev/shim/lab"
	"headroom.dev/shim/plugin"
)

// headroomWeight is above 100 times the sum of all other score plugins' weights (12 with the default
// plugins), so that the smallest difference between totals outweighs all of theirs.
const headroomWeight = 10_000

// variant is a way to configure kube-scheduler.
type variant struct {
	name, what string
	topK       int  // of Headroom; 0: stock
	everyNode  bool // percentageOfNodesToScore 100
	batching   bool // opportunistic batching is made to work
	names      int  // named by a plugin that knows nothing; 0: not there
	identical  bool // only of interest with identical pods
	// The stock plugins that are not enabled: those whose work the engine does.
	withoutScores []string
	without       []string
	engine        []lab.Plugin // headroomd's score plugins; nil: its standard profile
}

var (
	engineScores = []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation"}
	engineOwned  = []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodeUnschedulable", "NodeName",
		"TaintToleration", "NodeAffinity", "NodePorts", "PodTopologySpread", "InterPodAffinity", "ImageLocality"}
)

var variants = []variant{
	{name: "stock", what: "stock, default sampling"},
	{name: "stock_all", what: "stock, every node", everyNode: true},
	{name: "stock_batch", what: "stock, default sampling, batching on", batching: true},
	{name: "stock_all_batch", what: "stock, every node, batching on", everyNode: true, batching: true, identical: true},
	{name: "headroom_16", what: "Headroom, K = 16, beside all stock plugins", topK: 16},
	{name: "headroom_96", what: "Headroom, K = 96, beside all stock plugins", topK: 96},
	{name: "headroom_16_lean", what: "Headroom, K = 16, without the Fit and Balanced scores of stock", topK: 16,
		withoutScores: engineScores},
	{name: "headroom_1", what: "Headroom, K = 1, beside all stock plugins", topK: 1},
	{name: "headroom_1_lean", what: "Headroom, K = 1, without the stock plugins that the engine has", topK: 1,
		without: engineOwned},
	{name: "names_16", what: "no engine: a plugin that names 16 nodes, beside all stock plugins", names: 16},
	{name: "names_1", what: "no engine: a plugin that names 1 node, without the stock plugins that the engine has", names: 1,
		without: engineOwned},
	{name: "headroom_fit", what: "Headroom, K = 16, engine with NodeResourcesFit alone", topK: 16,
		engine: fitAlone},
}

func findVariant(name string) (variant, error) {
	for _, v := range variants {
		if v.name == name {
			return v, nil
		}
	}
	return variant{}, fmt.Errorf("variant: %q is not known", name)
}

// schedulerProfile for kube-scheduler.
func (v variant) schedulerProfile(address string) lab.SchedulerProfile {
	profile := lab.SchedulerProfile{Plugins: map[string]lab.PluginSet{}}
	multiPoint := lab.PluginSet{Disabled: lab.Plugins(v.without...)}
	if v.names > 0 {
		multiPoint.Enabled = lab.Plugins(namesPlugin)
	}
	if v.topK > 0 {
		multiPoint.Enabled = []lab.Plugin{{Name: plugin.Name, Weight: headroomWeight}}
		if v.without == nil {
			multiPoint.Defer()
		}
		profile.PluginConfig = append(profile.PluginConfig,
			lab.HeadroomArgs{Address: address, TopK: v.topK, Timeout: "10s", OnUnavailable: "Wait"}.Config())
	}
	profile.Plugins["multiPoint"] = multiPoint
	if len(v.withoutScores) > 0 {
		profile.Plugins["score"] = lab.PluginSet{Disabled: lab.Plugins(v.withoutScores...)}
	}
	if v.batching {
		// Its System defaults keep every pod out of batching.
		profile.PluginConfig = append(profile.PluginConfig, lab.PluginConfig{Name: "PodTopologySpread",
			Args: map[string]any{"defaultingType": "List", "defaultConstraints": []any{}}})
	}
	return profile
}

func (v variant) percentage() int {
	if v.everyNode {
		return 100
	}
	return 0
}

// decoded is the profile as kube-scheduler reads it, defaults filled in.
func decoded(profile lab.SchedulerProfile) (config.KubeSchedulerProfile, error) {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1",
		"kind":       "KubeSchedulerConfiguration",
		"profiles": []any{map[string]any{"schedulerName": "default-scheduler", "plugins": profile.Plugins,
			"pluginConfig": profile.PluginConfig}},
	})
	if err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	configuration, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok || len(configuration.Profiles) != 1 {
		return config.KubeSchedulerProfile{}, fmt.Errorf("profile: %T instead of one KubeSchedulerConfiguration", object)
	}
	return configuration.Profiles[0], nil
}

var fitAlone = []lab.Plugin{{Name: "NodeResourcesFit", Weight: 1}}

// engineProfile is headroomd's: the standard one, or filters of the node alone and these score plugins.
func engineProfile(scores []lab.Plugin) (string, error) {
	profile := lab.SchedulerProfile{
		// The metrics are as old as the run is long.
		PluginConfig: []lab.PluginConfig{{Name: "LoadAwareScheduling", Args: map[string]any{
			"nodeMetricExpirationSeconds": 24 * 60 * 60}}},
	}
	if scores != nil {
		profile.Plugins = map[string]lab.PluginSet{"multiPoint": {
			Enabled:  append(lab.Plugins("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity"), scores...),
			Disabled: lab.Plugins("*"),
		}}
	}
	return lab.EngineProfile(profile, "")
}
