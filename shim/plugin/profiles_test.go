package plugin

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"headroom.dev/shim/lab"
)

// packing is like fitOnly, and fills nodes up; it has CapacityScheduling beside it.
func packing(name string) lab.SchedulerProfile {
	multiPoint := fitOnly.Plugins["multiPoint"]
	multiPoint.Enabled = append(slices.Clone(multiPoint.Enabled), lab.Plugin{Name: capacityScheduling})
	return lab.SchedulerProfile{Name: name, Plugins: map[string]lab.PluginSet{"multiPoint": multiPoint},
		PluginConfig: []lab.PluginConfig{{Name: "NodeResourcesFit", Args: map[string]any{
			"scoringStrategy": map[string]any{"type": "MostAllocated", "resources": []map[string]any{{"name": "cpu", "weight": 1}}}}}}}
}

// Of several profiles that of the plugin's own name decides, wherever it stands; or the one that its arguments name.
func TestTheProfileOfThePluginsNameDecides(t *testing.T) {
	for _, c := range []struct {
		args     map[string]any
		best     string
		preempts bool
	}{
		{map[string]any{"topK": 1}, "empty", false},
		{map[string]any{"topK": 1, "profile": "default-scheduler"}, "empty", false},
		{map[string]any{"topK": 1, "profile": "packer"}, "half", true},
	} {
		w := newWorldOf(t, c.args, []lab.SchedulerProfile{packing("packer"), fitOnly},
			node("half", "8"), node("empty", "8"), bound(pod("there", "4"), "half"))
		w.fedUntil(2, 1)
		try := w.preFilter(pod("new", "1"))
		if !slices.Equal(try.names, []string{c.best}) {
			t.Errorf("%v: %v, %v", c.args, try.names, try.status)
		}
		if w.headroom.serves(capacityScheduling) != c.preempts {
			t.Errorf("%v: it preempts: %v", c.args, !c.preempts)
		}
	}
}

// A name that headroomd has no profile for: as if headroomd were away, and it says which it has.
func TestAHeadroomdWithoutTheProfileIsAway(t *testing.T) {
	w := newWorldOf(t, map[string]any{"onUnavailable": "Wait", "profile": "other"},
		[]lab.SchedulerProfile{packing("packer"), fitOnly}, node("only", "8"))
	try := w.preFilter(pod("new", "1"))
	if try.status.IsSuccess() || !strings.Contains(try.status.Message(), `"other" has no profile here; served: packer, default-scheduler`) {
		t.Errorf("%v", try.status)
	}
	// Of one profile with another name it is told when it is connected.
	w = newWorld(t, map[string]any{"onUnavailable": "Wait", "profile": "other"}, fitOnly, node("only", "8"))
	try = w.preFilter(pod("new", "1"))
	if try.status.IsSuccess() || !strings.Contains(try.status.Message(), `headroomd serves no profile "other"`) {
		t.Errorf("%v", try.status)
	}
}

// What it decides is told again to who is connected: nobody else would.
func TestAnotherProfileIsKnownToWhoIsConnected(t *testing.T) {
	w := newWorld(t, nil, fitOnly, node("only", "8"))
	w.fedUntil(1, 0)
	w.preFilter(pod("before", "1"))
	if w.headroom.serves(capacityScheduling) {
		t.Fatal("the first profile preempts")
	}
	text, err := lab.EngineProfile(packing("default-scheduler"), "Proposal")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.daemon.SetProfile(text), syscall.Kill(w.daemon.Pid(), syscall.SIGHUP)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the plugin knows the other profile", func() bool {
		return w.preFilter(pod("after", "1")).status.IsSuccess() && w.headroom.serves(capacityScheduling)
	})
}
