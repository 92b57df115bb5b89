package client

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"unix:///run/headroom/headroom.sock": {"unix", "/run/headroom/headroom.sock"},
		"tcp://127.0.0.1:8611":               {"tcp", "127.0.0.1:8611"},
		"tcp://[::1]:8611":                   {"tcp", "[::1]:8611"},
	} {
		got, err := ParseAddress(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, error %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"":           "accepted are",
		"/run/x":     "accepted are",
		"unix://run": "begins with /",
		"unix:///" + strings.Repeat("x", pathBytesMax): "at most 107 bytes",
		"tcp://10.0.0.7:8611":                          "with TLS only",
		"tls://127.0.0.1:8611":                         "TLS is not supported",
		"tcp://localhost:8611":                         "is not ADDRESS:PORT",
		"tcp://127.0.0.1":                              "is not ADDRESS:PORT",
		"tcp://127.0.0.1:x":                            "is not ADDRESS:PORT",
	} {
		if _, err := ParseAddress(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v; want %q", text, err, says)
		}
	}
}
