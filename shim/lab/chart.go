package lab

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Chart is what deploy/chart configures, as Helm renders it: the scheduler's profile and headroomd.
type Chart struct {
	Scheduler SchedulerProfile
	Headroomd HeadroomdOptions
}

// Of headroomd.yaml, what does not depend on a pod's files and users.
var chartFlags = []string{"threads", "busy-poll-us", "cache-mib"}

// RenderChart renders it with these of its values (name=value). The error is ErrMissing where there is no Helm.
func (b Binaries) RenderChart(values ...string) (Chart, error) {
	helm, err := exec.LookPath(filepath.Join(filepath.Dir(b.ControlPlane), "helm"))
	if err != nil {
		if helm, err = exec.LookPath("helm"); err != nil {
			return Chart{}, fmt.Errorf("%w: helm. Build it: tools/build-shim lab", ErrMissing)
		}
	}
	args := []string{"template", "headroom", filepath.Join(repositoryRoot(), "deploy/chart"), "--kube-version", "1.37.1"}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	text, err := exec.Command(helm, args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return Chart{}, fmt.Errorf("lab: helm %q: %w\n%s", args, err, failed.Stderr)
	}
	if err != nil {
		return Chart{}, err
	}
	files := map[string]string{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object v1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return Chart{}, err
		}
		if object.Kind == "ConfigMap" {
			for name, content := range object.Data {
				files[name] = content
			}
		}
	}
	return readChart(files)
}

// readChart of the files of its configuration maps.
func readChart(files map[string]string) (c Chart, err error) {
	var config struct {
		Profiles []struct {
			SchedulerName string               `json:"schedulerName"`
			Plugins       map[string]PluginSet `json:"plugins"`
			PluginConfig  []PluginConfig       `json:"pluginConfig"`
		} `json:"profiles"`
	}
	if err := yaml.Unmarshal([]byte(files["scheduler.yaml"]), &config); err != nil {
		return c, err
	}
	var headroomd map[string]any
	if err := yaml.Unmarshal([]byte(files["headroomd.yaml"]), &headroomd); err != nil {
		return c, err
	}
	if len(config.Profiles) != 1 || files["profile.yaml"] == "" {
		return c, fmt.Errorf("lab: the chart renders %d profiles, and for headroomd %q", len(config.Profiles), files["profile.yaml"])
	}
	its := config.Profiles[0]
	c.Scheduler = SchedulerProfile{Name: its.SchedulerName, Plugins: its.Plugins, PluginConfig: its.PluginConfig}
	c.Headroomd.Profile = files["profile.yaml"]
	for _, flag := range chartFlags {
		value, found := headroomd[flag]
		if !found {
			return c, fmt.Errorf("lab: the chart's headroomd.yaml has no %s", flag)
		}
		c.Headroomd.Args = append(c.Headroomd.Args, "--"+flag, fmt.Sprint(value))
	}
	return c, nil
}

// SchedulerFor is the scheduler's profile with a headroomd at that address: here no two containers share a directory.
func (c Chart) SchedulerFor(address string) SchedulerProfile {
	for _, config := range c.Scheduler.PluginConfig {
		if args, ok := config.Args.(map[string]any); ok && config.Name == "Headroom" {
			args["address"] = address
		}
	}
	return c.Scheduler
}
