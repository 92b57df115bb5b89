package deferred

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

	"headroom.dev/shim/plugin"
	"headroom.dev/shim/wire"
)

// Names of the plugins in KubeSchedulerConfiguration.
const (
	PodTopologySpread = "Headroom" + podtopologyspread.Name
	InterPodAffinity  = "Headroom" + interpodaffinity.Name
)

// NewPodTopologySpread is a factory; its arguments are PodTopologySpreadArgs.
func NewPodTopologySpread(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := readArgs[*config.PodTopologySpreadArgs](podtopologyspread.Name, object)
	if err != nil {
		return nil, err
	}
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	its, err := podtopologyspread.New(ctx, args, handle, features)
	if err != nil {
		return nil, err
	}
	// headroomd has its own defaults, and knows no feature gates.
	hardDefaults := slices.ContainsFunc(args.DefaultConstraints, func(its v1.TopologySpreadConstraint) bool {
		return its.WhenUnsatisfiable == v1.DoNotSchedule
	})
	return newPlugin(PodTopologySpread, its.(stock), func(state fwk.CycleState, pod *v1.Pod) bool {
		return features.EnableMatchLabelKeysInPodTopologySpread &&
			(len(pod.Spec.TopologySpreadConstraints) > 0 || !hardDefaults) &&
			plugin.Decided(state, wire.NotConsideredHardTopologySpread)
	}), nil
}

// NewInterPodAffinity is a factory; its arguments are InterPodAffinityArgs, which say how to score.
func NewInterPodAffinity(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := readArgs[*config.InterPodAffinityArgs](interpodaffinity.Name, object)
	if err != nil {
		return nil, err
	}
	its, err := interpodaffinity.New(ctx, args, handle, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return nil, err
	}
	return newPlugin(InterPodAffinity, its.(stock), func(state fwk.CycleState, _ *v1.Pod) bool {
		return plugin.Decided(state, wire.NotConsideredRequiredPodAffinity, wire.NotConsideredRequiredPodAntiAffinity)
	}), nil
}

// readArgs decodes what the framework hands to a plugin that it does not know, as it does with the arguments of its
// own one of that name: strictly, with their defaults.
func readArgs[Args runtime.Object](name string, object runtime.Object) (args Args, err error) {
	raw := []byte("{}")
	switch given := object.(type) {
	case nil:
	case *runtime.Unknown:
		if len(given.Raw) > 0 {
			raw = given.Raw
		}
	default:
		return args, fmt.Errorf("%sArgs: %T where JSON or YAML was due", name, object)
	}
	kind := configv1.SchemeGroupVersion.WithKind(name + "Args")
	decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(raw, &kind, nil)
	if err != nil {
		return args, fmt.Errorf("%sArgs: %w", name, err)
	}
	args, ok := decoded.(Args)
	if !ok {
		return args, fmt.Errorf("%sArgs: %T was given", name, decoded)
	}
	return args, nil
}
