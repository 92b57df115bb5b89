package integration

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"headroom.dev/shim/lab"
)

// What deploy/chart configures, as Helm renders it: the scheduler's profile and headroomd's. Different are
// only the address, as there is no pod, and the timeout, as two cores run all of this.
const chart = "../../deploy/chart"

// shipped are the chart's configurations.
type shipped struct {
	scheduler lab.SchedulerProfile
	headroomd string // its profile's text
}

// chartAsShipped skips where there is no Helm.
func (c *cluster) chartAsShipped() shipped {
	c.Helper()
	helm, err := exec.LookPath(filepath.Join(filepath.Dir(world.Binaries.ControlPlane), "helm"))
	if err != nil {
		if helm, err = exec.LookPath("helm"); err != nil {
			c.Skip("there is no helm; tools/build-shim lab builds it")
		}
	}
	text, err := exec.Command(helm, "template", "headroom", chart, "--kube-version", "1.37.1", "--set", "plugin.timeout=2s").Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		c.Fatalf("%v\n%s", err, failed.Stderr)
	}
	c.ok(err)
	files := map[string]string{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object v1.ConfigMap
		c.ok(yaml.Unmarshal([]byte(document), &object))
		if object.Kind == "ConfigMap" {
			for name, content := range object.Data {
				files[name] = content
			}
		}
	}
	var config struct {
		Profiles []struct {
			SchedulerName string                   `json:"schedulerName"`
			Plugins       map[string]lab.PluginSet `json:"plugins"`
			PluginConfig  []lab.PluginConfig       `json:"pluginConfig"`
		} `json:"profiles"`
	}
	c.ok(yaml.Unmarshal([]byte(files["scheduler.yaml"]), &config))
	if len(config.Profiles) != 1 || files["profile.yaml"] == "" {
		c.Fatalf("the chart renders %d profiles, and for headroomd %q", len(config.Profiles), files["profile.yaml"])
	}
	its := config.Profiles[0]
	return shipped{headroomd: files["profile.yaml"],
		scheduler: lab.SchedulerProfile{Name: its.SchedulerName, Plugins: its.Plugins, PluginConfig: its.PluginConfig}}
}

// startAsShipped starts headroomd and the scheduler with Headroom, as the chart configures them.
func (c *cluster) startAsShipped() (schedulerName string) {
	c.Helper()
	c.needsHeadroom()
	its := c.chartAsShipped()
	var err error
	c.daemon, err = world.StartHeadroomd(c.ctx, lab.HeadroomdOptions{Profile: its.headroomd})
	c.ok(err)
	c.own(c.daemon.Process)
	for _, config := range its.scheduler.PluginConfig {
		if args, ok := config.Args.(map[string]any); ok && config.Name == "Headroom" {
			args["address"] = c.daemon.Address
		}
	}
	scheduler, err := world.StartScheduler(c.ctx, plane, lab.SchedulerOptions{
		Config: lab.SchedulerConfig{Profiles: []lab.SchedulerProfile{its.scheduler}}})
	c.ok(err)
	c.own(scheduler.Process)
	c.awaitFed()
	return its.scheduler.Name
}
