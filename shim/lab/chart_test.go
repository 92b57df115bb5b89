package lab

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestTheChartIsRendered(t *testing.T) {
	binaries, err := FindBinaries()
	if err != nil {
		t.Skip(err)
	}
	chart, err := binaries.RenderChart("schedulerNames={someone}", "headroomd.threads=7")
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	ok(t, err)
	if chart.Scheduler.Name != "someone" || !strings.Contains(chart.Headroomd.Profile, "schedulerName: someone") {
		t.Errorf("%+v", chart)
	}
	if at := slices.Index(chart.Headroomd.Args, "--threads"); at < 0 || chart.Headroomd.Args[at+1] != "7" {
		t.Errorf("flags %q", chart.Headroomd.Args)
	}
	for _, config := range chart.SchedulerFor("unix:///here").PluginConfig {
		if args, _ := config.Args.(map[string]any); args["address"] != "unix:///here" {
			t.Errorf("%+v", config)
		}
	}
	if _, err := binaries.RenderChart("nothing=1"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a value that the chart does not know: %v", err)
	}
}

func TestAChartThatLacksSomethingIsRefused(t *testing.T) {
	whole := map[string]string{"scheduler.yaml": "profiles: [{schedulerName: a}]", "profile.yaml": "kind: x",
		"headroomd.yaml": "{threads: 2, busy-poll-us: 0, cache-mib: 256}"}
	_, err := readChart(whole)
	ok(t, err)
	for file, problem := range map[string][2]string{"scheduler.yaml": {"profiles: []", "0 profiles"},
		"profile.yaml": {"", "for headroomd \"\""}, "headroomd.yaml": {"threads: 2", "no busy-poll-us"}} {
		files := maps.Clone(whole)
		files[file] = problem[0]
		if _, err := readChart(files); err == nil || !strings.Contains(err.Error(), problem[1]) {
			t.Errorf("%s: %v, not %q", file, err, problem[1])
		}
	}
}
