package lab

import (
	"time"

	"sigs.k8s.io/yaml"
)

// clientQPS of a scheduler: its own limit must not be what is measured.
const clientQPS = 10_000

// SchedulerConfig is what a lab writes into a KubeSchedulerConfiguration.
type SchedulerConfig struct {
	Profiles []SchedulerProfile // none: the default profile
	// Of all nodes that the cycle looks at; 0: kube-scheduler's adaptive default.
	PercentageOfNodesToScore int
	Parallelism              int // 0: 16
	// Leader, where it is not nil, turns leader election on.
	Leader *LeaderElection
	// How long a pod waits after a failed attempt; 0: 1 s and 10 s.
	InitialBackoffSeconds, MaxBackoffSeconds int
}

// LeaderElection of a lab is faster than that of a cluster.
type LeaderElection struct {
	Lease                              string // its name in kube-system: the same for all that compete
	Duration, RenewDeadline, RetryTime time.Duration
}

// FastLeaderElection has a successor within some 4 s of a leader's death.
func FastLeaderElection(lease string) *LeaderElection {
	return &LeaderElection{Lease: lease, Duration: 3 * time.Second, RenewDeadline: 2 * time.Second,
		RetryTime: 500 * time.Millisecond}
}

// SchedulerProfile is one of profiles: Plugins and PluginConfig as in YAML.
type SchedulerProfile struct {
	Name         string // empty: default-scheduler
	Plugins      map[string]PluginSet
	PluginConfig []PluginConfig
}

// PluginSet is that of one extension point, or of multiPoint.
type PluginSet struct {
	Enabled  []Plugin `json:"enabled,omitempty"`
	Disabled []Plugin `json:"disabled,omitempty"`
}

// Plugin by its name; weight for scores, 0: the default.
type Plugin struct {
	Name   string `json:"name"`
	Weight int    `json:"weight,omitempty"`
}

// Defer has Headroom's plugins stand for kube-scheduler's of the same name, as the chart does.
func (s *PluginSet) Defer() {
	for _, name := range []string{"PodTopologySpread", "InterPodAffinity"} {
		s.Enabled = append(s.Enabled, Plugin{Name: "Headroom" + name, Weight: 2})
		s.Disabled = append(s.Disabled, Plugin{Name: name})
	}
}

// PluginConfig is a plugin's arguments.
type PluginConfig struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

// Plugins by their names.
func Plugins(names ...string) []Plugin {
	var list []Plugin
	for _, name := range names {
		list = append(list, Plugin{Name: name})
	}
	return list
}

// HeadroomArgs of the plugin, as in YAML.
type HeadroomArgs struct {
	Address       string `json:"address"`
	TopK          int    `json:"topK,omitempty"`
	Timeout       string `json:"timeout,omitempty"`
	OnUnavailable string `json:"onUnavailable,omitempty"` // Skip or Wait
	// And of namespaces with an ElasticQuota; how long pods that were turned away are parked.
	OnUnavailableQuotas string `json:"onUnavailableQuotas,omitempty"`
	GracePeriod         string `json:"gracePeriod,omitempty"`
}

// Config is the arguments' place in a profile.
func (a HeadroomArgs) Config() PluginConfig { return PluginConfig{Name: "Headroom", Args: a} }

func (p SchedulerProfile) yaml() map[string]any {
	name := p.Name
	if name == "" {
		name = "default-scheduler"
	}
	profile := map[string]any{"schedulerName": name}
	if len(p.Plugins) > 0 {
		profile["plugins"] = p.Plugins
	}
	if len(p.PluginConfig) > 0 {
		profile["pluginConfig"] = p.PluginConfig
	}
	return profile
}

func configuration(profiles []SchedulerProfile) map[string]any {
	config := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1",
		"kind":       "KubeSchedulerConfiguration",
	}
	var list []any
	for _, profile := range profiles {
		list = append(list, profile.yaml())
	}
	if list != nil {
		config["profiles"] = list
	}
	return config
}

// Text is the file that kube-scheduler reads; kubeconfig is the path that it names.
func (c SchedulerConfig) Text(kubeconfig string) ([]byte, error) {
	config := configuration(c.Profiles)
	config["clientConnection"] = map[string]any{"kubeconfig": kubeconfig, "qps": clientQPS, "burst": clientQPS,
		"contentType": "application/vnd.kubernetes.protobuf"}
	leader := map[string]any{"leaderElect": c.Leader != nil}
	if c.Leader != nil {
		leader["resourceName"] = c.Leader.Lease
		leader["resourceNamespace"] = "kube-system"
		leader["resourceLock"] = "leases"
		leader["leaseDuration"] = c.Leader.Duration.String()
		leader["renewDeadline"] = c.Leader.RenewDeadline.String()
		leader["retryPeriod"] = c.Leader.RetryTime.String()
	}
	config["leaderElection"] = leader
	for key, value := range map[string]int{
		"percentageOfNodesToScore": c.PercentageOfNodesToScore, "parallelism": c.Parallelism,
		"podInitialBackoffSeconds": c.InitialBackoffSeconds, "podMaxBackoffSeconds": c.MaxBackoffSeconds,
	} {
		if value != 0 {
			config[key] = value
		}
	}
	return yaml.Marshal(config)
}

// EngineProfile is the YAML text of headroomd's profile, and of more of them. Mode: Proposal or Upstream; empty:
// Proposal.
func EngineProfile(profile SchedulerProfile, mode string, more ...SchedulerProfile) (string, error) {
	if mode == "" {
		mode = "Proposal"
	}
	first, err := yaml.Marshal(configuration(append([]SchedulerProfile{profile}, more...)))
	if err != nil {
		return "", err
	}
	second, err := yaml.Marshal(map[string]any{
		"apiVersion": "headroom/v1alpha1", "kind": "HeadroomConfiguration", "mode": mode})
	return string(first) + "---\n" + string(second), err
}
