package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"headroom.dev/shim/client"
)

// OnUnavailable says what becomes of a pod while headroomd cannot be asked.
type OnUnavailable string

const (
	// Skip: the other plugins schedule it, as if this one were not there.
	Skip OnUnavailable = "Skip"
	// Wait: it waits, and is tried as soon as headroomd answers.
	Wait OnUnavailable = "Wait"
)

const (
	DefaultAddress = "unix:///run/headroom/headroom.sock"
	DefaultTimeout = 100 * time.Millisecond
	// DefaultGracePeriod is far longer than a restart takes.
	DefaultGracePeriod = time.Minute
	// TopKMax is headroomd's kTopKMax.
	TopKMax = 1024
)

// HeadroomArgs are the plugin's arguments in KubeSchedulerConfiguration (pluginConfig, name
// Headroom). A field that is absent has its default; one that is not known is an error.
type HeadroomArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Address of headroomd: unix:///path, or tcp://address:port on loopback. Default DefaultAddress.
	Address string `json:"address,omitempty"`
	// TopK is how many of the best nodes the other plugins get to see, in [1, TopKMax]; see width.go. Above
	// 100 kube-scheduler samples among them. For plugins of one's own. 0, the default: one of a pod of which
	// headroomd's profile decides all, 16 of others.
	TopK int `json:"topK,omitempty"`
	// Timeout of one question to headroomd. Default DefaultTimeout.
	Timeout metav1.Duration `json:"timeout,omitempty"`
	// OnUnavailable: Skip (default) or Wait.
	OnUnavailable OnUnavailable `json:"onUnavailable,omitempty"`
	// OnUnavailableQuotas is the same for the gate of quotas: with Wait, pods of namespaces that have an
	// ElasticQuota wait also where OnUnavailable is Skip. Default: as OnUnavailable.
	OnUnavailableQuotas OnUnavailable `json:"onUnavailableQuotas,omitempty"`
	// GracePeriod is how long pods that headroomd turned away wait for it after it was lost, where
	// others are skipped. After it they are released, one each releaseInterval. Default
	// DefaultGracePeriod.
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
	// Profile is the schedulerName of the profile that headroomd decides by; headroomd without it counts as
	// unavailable. Empty (default): that of this kube-scheduler profile's name, or the only one that it has.
	Profile string `json:"profile,omitempty"`
}

// readArgs decodes and checks what the framework hands to New. Not with the scheduler's own
// decoder, which would bring all of k8s.io/kubernetes.
func readArgs(object runtime.Object) (HeadroomArgs, client.Address, error) {
	args := HeadroomArgs{}
	switch given := object.(type) {
	case nil:
	case *runtime.Unknown:
		if len(given.Raw) > 0 {
			decoder := json.NewDecoder(bytes.NewReader(given.Raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&args); err != nil {
				return args, client.Address{}, fmt.Errorf("HeadroomArgs: %w", err)
			}
		}
	default:
		return args, client.Address{}, fmt.Errorf("HeadroomArgs: %T where JSON or YAML was due", object)
	}
	if args.Address == "" {
		args.Address = DefaultAddress
	}
	if args.Timeout.Duration == 0 {
		args.Timeout.Duration = DefaultTimeout
	}
	if args.OnUnavailable == "" {
		args.OnUnavailable = Skip
	}
	if args.OnUnavailableQuotas == "" {
		args.OnUnavailableQuotas = args.OnUnavailable
	}
	if args.GracePeriod == nil {
		args.GracePeriod = &metav1.Duration{Duration: DefaultGracePeriod}
	}
	if args.TopK < 0 || args.TopK > TopKMax {
		return args, client.Address{}, fmt.Errorf("HeadroomArgs.topK: %d is not in [0, %d]", args.TopK, TopKMax)
	}
	if args.Timeout.Duration < 0 {
		return args, client.Address{}, fmt.Errorf("HeadroomArgs.timeout: %v is not above 0", args.Timeout.Duration)
	}
	if args.GracePeriod.Duration < 0 {
		return args, client.Address{}, fmt.Errorf("HeadroomArgs.gracePeriod: %v is below 0", args.GracePeriod.Duration)
	}
	for _, field := range []struct {
		name  string
		value OnUnavailable
	}{{"onUnavailable", args.OnUnavailable}, {"onUnavailableQuotas", args.OnUnavailableQuotas}} {
		if field.value != Skip && field.value != Wait {
			return args, client.Address{}, fmt.Errorf("HeadroomArgs.%s: %q is neither %s nor %s", field.name, field.value, Skip, Wait)
		}
	}
	address, err := client.ParseAddress(args.Address)
	if err != nil {
		return args, client.Address{}, fmt.Errorf("HeadroomArgs.address: %w", err)
	}
	return args, address, nil
}
