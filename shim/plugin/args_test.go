package plugin

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestArgsHaveDefaults(t *testing.T) {
	for _, object := range []runtime.Object{nil, &runtime.Unknown{}, &runtime.Unknown{Raw: []byte(`{}`)}} {
		args, address, err := readArgs(object)
		if err != nil {
			t.Fatal(err)
		}
		if args.TopK != 0 || args.Timeout.Duration != DefaultTimeout || args.OnUnavailable != Skip ||
			args.OnUnavailableQuotas != Skip || args.GracePeriod.Duration != DefaultGracePeriod || args.Profile != "" {
			t.Errorf("%+v", args)
		}
		if address.Network != "unix" || address.Path != "/run/headroom/headroom.sock" {
			t.Errorf("%+v", address)
		}
	}
}

func TestArgsAreRead(t *testing.T) {
	args, address, err := readArgs(&runtime.Unknown{Raw: []byte(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"HeadroomArgs",
		"address":"tcp://127.0.0.1:8611","topK":1,"timeout":"20ms","onUnavailable":"Wait","gracePeriod":"0s","profile":"batch"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if args.TopK != 1 || args.Timeout.Duration != 20*time.Millisecond || args.OnUnavailable != Wait ||
		args.OnUnavailableQuotas != Wait || args.GracePeriod.Duration != 0 || args.Profile != "batch" {
		t.Errorf("%+v", args)
	}
	if address.Network != "tcp" || address.Path != "127.0.0.1:8611" {
		t.Errorf("%+v", address)
	}
}

func TestBadArgsNameTheFieldAndTheValue(t *testing.T) {
	for raw, want := range map[string]string{
		`{"topK":1025}`:                  "topK: 1025",
		`{"topK":-1}`:                    "topK: -1",
		`{"timeout":"-1s"}`:              "timeout: -1s",
		`{"timeout":"soon"}`:             `"soon"`,
		`{"onUnavailable":"Pray"}`:       `onUnavailable: "Pray"`,
		`{"onUnavailableQuotas":"wait"}`: `onUnavailableQuotas: "wait"`,
		`{"gracePeriod":"-1s"}`:          "gracePeriod: -1s",
		`{"address":"http://here"}`:      "address",
		`{"adress":"unix:///a"}`:         `"adress"`,
		`[]`:                             "HeadroomArgs",
	} {
		_, _, err := readArgs(&runtime.Unknown{Raw: []byte(raw)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, without %q", raw, err, want)
		}
	}
}
