package deploy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestHelmFindsNothingToComplainOf(t *testing.T) {
	for _, args := range [][]string{nil, {"--values", everyValue}} {
		out, problems, err := helm(t, append([]string{"lint", "--strict", "--quiet", chart}, args...)...)
		if err != nil {
			t.Errorf("helm lint %v: %v\n%s%s", args, err, out, problems)
		}
	}
}

func TestOneThatStandsByIsReadyAndTwoAreNeverOneByAccident(t *testing.T) {
	objects := render(t)
	deployment := typed[appsv1.Deployment](t, objects, "Deployment", release)
	if *deployment.Spec.Replicas != 2 || deployment.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("replicas %d, strategy %s", *deployment.Spec.Replicas, deployment.Spec.Strategy.Type)
	}
	if find(objects, "PodDisruptionBudget", release) == nil {
		t.Error("2 replicas without a PodDisruptionBudget")
	}
	if !strings.Contains(schedulerConfig(t, objects), "leaderElect: true") {
		t.Error("2 replicas without an election")
	}
	if path := readiness(t, deployment); path != "/readyz" {
		t.Errorf("with standbys, which feed as well, headroomd is asked for %s", path)
	}

	objects = render(t, "--set", "replicas=1")
	deployment = typed[appsv1.Deployment](t, objects, "Deployment", release)
	if deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("1 replica, strategy %s: two would schedule during an update", deployment.Spec.Strategy.Type)
	}
	for _, kind := range []string{"PodDisruptionBudget", "Role"} {
		if find(objects, kind, release) != nil {
			t.Errorf("1 replica with a %s", kind)
		}
	}
	if !strings.Contains(schedulerConfig(t, objects), "leaderElect: false") {
		t.Error("1 replica with an election")
	}
	if path := readiness(t, deployment); path != "/readyz" {
		t.Errorf("alone headroomd is asked for %s", path)
	}
}

func readiness(t *testing.T, deployment *appsv1.Deployment) string {
	t.Helper()
	return container(t, deployment, "headroomd").ReadinessProbe.HTTPGet.Path
}

func container(t *testing.T, deployment *appsv1.Deployment, name string) corev1.Container {
	t.Helper()
	for _, c := range deployment.Spec.Template.Spec.Containers {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no container %s", name)
	return corev1.Container{}
}

func TestOnlyTheSchedulerHasAToken(t *testing.T) {
	deployment := typed[appsv1.Deployment](t, render(t), "Deployment", release)
	if mount := deployment.Spec.Template.Spec.AutomountServiceAccountToken; mount == nil || *mount {
		t.Error("every container gets a token")
	}
	for name, wanted := range map[string]bool{"scheduler": true, "headroomd": false} {
		has := false
		for _, mount := range container(t, deployment, name).VolumeMounts {
			has = has || mount.Name == "token"
		}
		if has != wanted {
			t.Errorf("%s mounts a token: %v", name, has)
		}
	}
}

// Where headroomd keeps quotas, nobody passes them without it, and it preempts in the place of kube-scheduler.
func TestQuotasWaitAndDefaultPreemptionIsOffWhereCapacityScheduling(t *testing.T) {
	for name, c := range map[string]struct {
		set  string
		want bool
	}{
		"the standard profile": {`{}`, true},
		"no quotas":            {`{"multiPoint": {"enabled": [{"name": "LimitAware"}]}}`, false},
		"at multiPoint":        {`{"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}}`, true},
		"at postFilter":        {`{"postFilter": {"enabled": [{"name": "CapacityScheduling"}]}}`, true},
		"at preFilter":         {`{"preFilter": {"enabled": [{"name": "CapacityScheduling"}]}}`, false},
		"at both": {`{"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
			"postFilter": {"enabled": [{"name": "CapacityScheduling"}]}}`, true},
		"disabled": {`{"multiPoint": {"disabled": [{"name": "CapacityScheduling"}]}}`, false},
		"at multiPoint, not at postFilter": {`{"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
			"postFilter": {"disabled": [{"name": "*"}]}}`, false},
	} {
		text := schedulerConfig(t, render(t, "--set-json", "policy.plugins="+c.set))
		if off := strings.Contains(text, "name: DefaultPreemption"); off != c.want {
			t.Errorf("%s: DefaultPreemption is off: %v\n%s", name, off, text)
		}
		if waits := strings.Contains(text, "onUnavailableQuotas: Wait"); waits != c.want {
			t.Errorf("%s: quotas wait: %v\n%s", name, waits, text)
		}
	}
}

func TestAnotherConfigurationIsAnotherPod(t *testing.T) {
	annotations := func(args ...string) map[string]string {
		return typed[appsv1.Deployment](t, render(t, args...), "Deployment", release).Spec.Template.Annotations
	}
	before := annotations()
	if after := annotations("--set", "plugin.topK=17"); after["checksum/scheduler"] == before["checksum/scheduler"] {
		t.Error("the scheduler's configuration changed, its pod did not")
	}
	if after := annotations("--set", "policy.mode=Upstream"); after["checksum/headroomd"] == before["checksum/headroomd"] {
		t.Error("headroomd's profile changed, its pod did not")
	}
}

// prometheus is a value for --set-json: who may read metrics.
const prometheus = `networkPolicy.metricsFrom=[{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]`

func TestOnlyWhoReadsMetricsReachesThePods(t *testing.T) {
	deployment := typed[appsv1.Deployment](t, render(t), "Deployment", release)
	listens := map[string]bool{}
	for _, c := range deployment.Spec.Template.Spec.Containers {
		for _, port := range c.Ports {
			listens[port.Name] = true
		}
	}
	closed := typed[networkingv1.NetworkPolicy](t, render(t), "NetworkPolicy", release).Spec
	if len(closed.Ingress) != 0 || !slices.Equal(closed.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("nobody is named, and may come: %+v", closed)
	}
	for name, value := range closed.PodSelector.MatchLabels {
		if deployment.Spec.Template.Labels[name] != value {
			t.Errorf("it does not select the pods: %s=%s", name, value)
		}
	}
	open := typed[networkingv1.NetworkPolicy](t, render(t, "--set-json", prometheus), "NetworkPolicy", release).Spec
	if len(open.Ingress) != 1 || len(open.Ingress[0].From) != 1 || len(open.Ingress[0].Ports) != len(listens) {
		t.Fatalf("%+v", open)
	}
	for _, port := range open.Ingress[0].Ports {
		if !listens[port.Port.StrVal] {
			t.Errorf("no container listens on %v", port.Port)
		}
	}
}

// headroomd lets the user feed and reserve whom the Deployment runs both programs as.
func TestTheSocketsRolesAreThePodsUsers(t *testing.T) {
	objects := render(t)
	user := *typed[appsv1.Deployment](t, objects, "Deployment", release).Spec.Template.Spec.SecurityContext.RunAsUser
	text := typed[corev1.ConfigMap](t, objects, "ConfigMap", release+"-headroomd").Data["headroomd.yaml"]
	for _, role := range []string{"feeder", "decider"} {
		if line := fmt.Sprintf("%s: [\"user:%d\"]", role, user); !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

// Every value does something, and the file that sets all of them leaves none out.
func TestEveryValueChangesWhatIsRendered(t *testing.T) {
	read := func(path string) map[string]any {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := yaml.UnmarshalStrict(text, &values); err != nil {
			t.Fatal(path, err)
		}
		return values
	}
	defaults, set := leaves("", read(chart+"/values.yaml")), leaves("", read(everyValue))
	for path := range defaults {
		if _, ok := set[path]; !ok {
			t.Errorf("%s does not set %s", everyValue, path)
		}
	}
	// The interval and labels show only where there is a ServiceMonitor, which needs a Prometheus.
	scraper := []string{"--values", file(t, "prometheus.yaml", "networkPolicy: {metricsFrom: [{podSelector: {}}]}")}
	base := append(slices.Clone(scraper), "--set", "serviceMonitor.enabled=true")
	before, _, _ := template(t, base...)
	without, _, _ := template(t, scraper...)
	for path, value := range set {
		text, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		args, other := base, before
		if path == "serviceMonitor.enabled" {
			args, other = scraper, without
		}
		nested, err := yaml.Marshal(nest(strings.Split(path, "."), value))
		if err != nil {
			t.Fatal(err)
		}
		after, problems, err := template(t, append(slices.Clone(args), "--values", file(t, "values.yaml", string(nested)))...)
		if err != nil {
			t.Errorf("%s: %s%s", path, text, problems)
		} else if after == other {
			t.Errorf("%s changes nothing", path)
		}
	}
}

// leaves of values: what chart users set as a whole is one.
func leaves(prefix string, values map[string]any) map[string]any {
	whole := map[string]bool{"policy.plugins": true, "policy.pluginConfig": true, "serviceMonitor.labels": true,
		"networkPolicy.metricsFrom": true, "scheduler.plugins": true, "scheduler.pluginConfig": true, "labels": true,
		"nodeSelector": true, "affinity": true, "scheduler.resources": true, "headroomd.resources": true}
	found := map[string]any{}
	for name, value := range values {
		path := strings.TrimPrefix(prefix+"."+name, ".")
		if inner, ok := value.(map[string]any); ok && !whole[path] {
			for at, leaf := range leaves(path, inner) {
				found[at] = leaf
			}
			continue
		}
		found[path] = value
	}
	return found
}

func nest(path []string, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	return value
}

func TestBadValuesAreRefusedByName(t *testing.T) {
	for set, want := range map[string]string{
		`replicas=0`:                              "replicas",
		`replicas=two`:                            "replicas",
		`replica=2`:                               "'replica' not allowed",
		`schedulerNames={Headroom Scheduler}`:     "schedulerNames",
		`schedulerNames={a,a}`:                    "schedulerNames",
		`schedulerNames=a`:                        "schedulerNames",
		`leaderElection.leaseDuration=15`:         "leaseDuration",
		`images.scheduler.tag=a b`:                "tag",
		`images.scheduler.repository=`:            "repository",
		`images.scheduler.repository=headroomd:1`: "repository",
		`images.headroomd.digest=sha256:abc`:      "digest",
		`images.pullPolicy=Sometimes`:             "pullPolicy",
		`policy.mode=proposal`:                    "'Proposal', 'Upstream'",
		`policy.kubernetesVersion=1.38`:           "kubernetesVersion",
		`policy.plugins.bind.enabled[0].name=X`:   "'bind' not allowed",
		`policy.plugins.score.enabled[0]=X`:       "score",
		`policy.pluginConfig[0].name=LimitAware`:  "args",
		`plugin.topK=1025`:                        "topK",
		`plugin.topK=-1`:                          "topK",
		`plugin.timeout=0s`:                       "timeout",
		`plugin.timeout=100`:                      "timeout",
		`plugin.onUnavailable=Fail`:               "'Skip', 'Wait'",
		`plugin.onUnavailableQuotas=Never`:        "'Skip', 'Wait'",
		`plugin.gracePeriod=soon`:                 "gracePeriod",
		`plugin.address=tcp`:                      "'address' not allowed",
		`scheduler.qps=0`:                         "qps",
		`scheduler.resources.request.cpu=1`:       "'request' not allowed",
		`scheduler.plugins.filters.enabled=`:      "'filters' not allowed",
		`scheduler.extraArgs={v=4}`:               "extraArgs",
		`headroomd.cacheMib=0`:                    "cacheMib",
		`headroomd.threads=-1`:                    "threads",
		`headroomd.logLevel=warn`:                 "logLevel",
		`headroomd.extraArgs=--threads=4`:         "extraArgs",
		`serviceMonitor.enabled=yes please`:       "enabled",
		`serviceMonitor.enabled=true`:             "networkPolicy.metricsFrom: serviceMonitor.enabled needs",
		`networkPolicy.from[0].podSelector=`:      "'from' not allowed",
		`networkPolicy.metricsFrom[0].pods=all`:   "'pods' not allowed",
		`labels.helm\.sh/chart=mine`:              "helm.sh/chart",
		`priorityClassName=null`:                  "priorityClassName",

		`policies=packs`: "policies",
		`policies[0].plugins.bind.enabled[0].name=X`:            "'bind' not allowed",
		`policies[0].schedulerName=A B`:                         "schedulerName",
		`policies[0].mode=Upstream`:                             "'mode' not allowed",
		`policies[0].schedulerName=headroom-scheduler`:          "schedulerName headroom-scheduler has a policy already",
		`policies[7].schedulerName=one-too-many`:                "policies",
		`scheduler.plugins.multiPoint.enabled[0].name=Headroom`: "/scheduler/plugins/multiPoint/enabled/0/name",
		`scheduler.pluginConfig[0].name=Headroom`:               "/scheduler/pluginConfig/0/name",
	} {
		_, problems, err := template(t, "--set", set)
		if err == nil {
			t.Errorf("%s is accepted", set)
		} else if !strings.Contains(problems, want) {
			t.Errorf("%s: no %q in\n%s", set, want, problems)
		}
	}
}

// schedulerConfig is the KubeSchedulerConfiguration of rendered objects.
func schedulerConfig(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	return typed[corev1.ConfigMap](t, objects, "ConfigMap", release+"-scheduler").Data["scheduler.yaml"]
}

func TestADigestCountsInsteadOfATag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	deployment := typed[appsv1.Deployment](t, render(t, "--set", "images.headroomd.tag=v2,images.headroomd.digest="+digest,
		"--set", "images.scheduler.tag=v2"), "Deployment", release)
	for name, want := range map[string]string{"headroomd": "headroomd@" + digest, "scheduler": "kube-scheduler-headroom:v2"} {
		if image := container(t, deployment, name).Image; image != want {
			t.Errorf("%s is of %s", name, image)
		}
	}
}

func TestLabelsAreEveryObjectsAndThePodsButSelectNone(t *testing.T) {
	// Also where a ServiceMonitor has the same label, by which a Prometheus selects it.
	objects := render(t, "--set", "labels.team=platform,serviceMonitor.enabled=true,serviceMonitor.labels.team=platform",
		"--set-json", prometheus)
	for _, object := range objects {
		if object.GetLabels()["team"] != "platform" {
			t.Errorf("%s %s has the labels %v", object.GetKind(), object.GetName(), object.GetLabels())
		}
	}
	deployment := typed[appsv1.Deployment](t, objects, "Deployment", release)
	if deployment.Spec.Template.Labels["team"] != "platform" {
		t.Errorf("its pods have the labels %v", deployment.Spec.Template.Labels)
	}
	// A selector cannot be changed later.
	if len(deployment.Spec.Selector.MatchLabels) != 2 {
		t.Errorf("pods are selected by %v", deployment.Spec.Selector.MatchLabels)
	}
}

// Profiles of a KubeSchedulerConfiguration, as far as the chart writes them.
type schedulerProfiles struct {
	Profiles []struct {
		SchedulerName string `json:"schedulerName"`
		Plugins       map[string]struct {
			Enabled, Disabled []struct {
				Name   string `json:"name"`
				Weight int    `json:"weight"`
			}
		} `json:"plugins"`
		PluginConfig []struct {
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		} `json:"pluginConfig"`
	} `json:"profiles"`
}

// Headroom stays first, with its weight, and what is configured beside it follows, in each profile.
func TestOwnPluginsComeBesideHeadroom(t *testing.T) {
	text := schedulerConfig(t, render(t, "--set", "schedulerNames={one,two}", "--set-json",
		`scheduler.plugins={"multiPoint": {"enabled": [{"name": "Own", "weight": 3}], "disabled": [{"name": "ImageLocality"}]},
			"permit": {"enabled": [{"name": "Own"}]}}`,
		"--set-json", `scheduler.pluginConfig=[{"name": "Own", "args": {"a": 1}}]`))
	var config schedulerProfiles
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Profiles) != 2 || config.Profiles[0].SchedulerName != "one" || config.Profiles[1].SchedulerName != "two" {
		t.Fatalf("%d profiles in\n%s", len(config.Profiles), text)
	}
	for _, profile := range config.Profiles {
		point := func(name string) string {
			set := profile.Plugins[name]
			return fmt.Sprintf("enabled %v, disabled %v", set.Enabled, set.Disabled)
		}
		for name, want := range map[string]string{
			"multiPoint": "enabled [{Headroom 10000} {HeadroomPodTopologySpread 2} {HeadroomInterPodAffinity 2} {Own 3}], " +
				"disabled [{DefaultPreemption 0} {PodTopologySpread 0} {InterPodAffinity 0} {ImageLocality 0}]",
			"postFilter": "enabled [{Headroom 0}], disabled []",
			"permit":     "enabled [{Own 0}], disabled []",
		} {
			if said := point(name); said != want {
				t.Errorf("%s, %s: %s", profile.SchedulerName, name, said)
			}
		}
		if len(profile.PluginConfig) != 2 || profile.PluginConfig[1].Name != "Own" || profile.PluginConfig[1].Args["a"] != 1.0 {
			t.Errorf("%s: pluginConfig %v", profile.SchedulerName, profile.PluginConfig)
		}
	}
}

// Names with a policy of their own: headroomd has a profile for each policy, kube-scheduler one for each name, which says
// whose policy it goes by where that is not its own name's.
func TestNamesWithPoliciesOfTheirOwn(t *testing.T) {
	objects := render(t, "--set", "schedulerNames={one,two}", "--set-json", `policies=[{"schedulerName": "packs",
		"plugins": {"multiPoint": {"enabled": [{"name": "LimitAware"}]}}, "pluginConfig": [{"name": "LimitAware", "args": {"a": 1}}]},
		{"schedulerName": "plain"}]`)
	read := func(text string) (config schedulerProfiles) {
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		return config
	}
	engines, _, _ := strings.Cut(typed[corev1.ConfigMap](t, objects, "ConfigMap", release+"-headroomd").Data["profile.yaml"], "---")
	var policies []string
	for _, profile := range read(engines).Profiles {
		policies = append(policies, fmt.Sprintf("%s %d %d", profile.SchedulerName, len(profile.Plugins), len(profile.PluginConfig)))
	}
	if !slices.Equal(policies, []string{"one 0 0", "packs 1 1", "plain 0 0"}) {
		t.Errorf("headroomd: %v in\n%s", policies, engines)
	}
	var names []string
	for _, profile := range read(schedulerConfig(t, objects)).Profiles {
		args := profile.PluginConfig[0].Args
		preempts := slices.ContainsFunc(profile.Plugins["multiPoint"].Disabled, func(its struct {
			Name   string `json:"name"`
			Weight int    `json:"weight"`
		}) bool {
			return its.Name == "DefaultPreemption"
		})
		names = append(names, fmt.Sprintf("%s profile %v quotas %v preempts %v", profile.SchedulerName, args["profile"],
			args["onUnavailableQuotas"], preempts))
	}
	if !slices.Equal(names, []string{"one profile <nil> quotas Wait preempts true", "two profile one quotas Wait preempts true",
		"packs profile <nil> quotas <nil> preempts false", "plain profile <nil> quotas Wait preempts true"}) {
		t.Errorf("kube-scheduler: %v", names)
	}
}

// Plugins stand for kube-scheduler's, with the arguments that these are given, and leave alone what a user has a word on.
func TestPluginsStandForKubeSchedulers(t *testing.T) {
	const spread, affinity = "HeadroomPodTopologySpread", "HeadroomInterPodAffinity"
	args := `[{"name": "PodTopologySpread", "args": {"a": 1}}, {"name": "InterPodAffinity", "args": {"b": 2}}]`
	for name, one := range map[string]struct {
		set, value string
		deferred   []string // and those that stay
		configured []string
	}{
		"usually":             {"replicas", "1", []string{spread, affinity}, []string{spread, affinity}},
		"off":                 {"plugin.deferred", "false", nil, []string{"PodTopologySpread", "InterPodAffinity"}},
		"one is weighed":      {"scheduler.plugins", `{"multiPoint": {"enabled": [{"name": "PodTopologySpread", "weight": 7}]}}`, []string{affinity}, []string{"PodTopologySpread", affinity}},
		"one is off a point":  {"scheduler.plugins", `{"score": {"disabled": [{"name": "InterPodAffinity"}]}}`, []string{spread}, []string{spread, "InterPodAffinity"}},
		"one is configured":   {"scheduler.plugins", `{"multiPoint": {"enabled": [{"name": "HeadroomInterPodAffinity"}]}}`, []string{spread, affinity}, []string{spread, "InterPodAffinity"}},
		"all others are off":  {"scheduler.plugins", `{"multiPoint": {"disabled": [{"name": "*"}]}}`, nil, []string{"PodTopologySpread", "InterPodAffinity"}},
		"all are off a point": {"scheduler.plugins", `{"score": {"disabled": [{"name": "*"}]}}`, []string{spread, affinity}, []string{spread, affinity}},
	} {
		text := schedulerConfig(t, render(t, "--set-json", one.set+"="+one.value, "--set-json", "scheduler.pluginConfig="+args))
		var config schedulerProfiles
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		var deferred, configured []string
		for _, plugin := range config.Profiles[0].Plugins["multiPoint"].Enabled {
			if plugin.Name == spread || plugin.Name == affinity {
				deferred = append(deferred, plugin.Name)
			}
		}
		for _, its := range config.Profiles[0].PluginConfig[1:] {
			configured = append(configured, its.Name)
		}
		if !slices.Equal(deferred, one.deferred) || !slices.Equal(configured, one.configured) {
			t.Errorf("%s: %v, configured %v in\n%s", name, deferred, configured, text)
		}
	}
}
