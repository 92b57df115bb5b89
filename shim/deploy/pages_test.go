package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// ours are the places that would be this machine's.
var ours = []string{"/usr/bin", "/etc/systemd/system", "/etc/sysusers.d", "/etc/headroom",
	"/etc/kubernetes/scheduler.conf", "/run/credentials", "/run/headroom", "8612", "10260"}

// The commands and files of the pages, typed and written as they stand there: an install, an upgrade, another
// profile and a rollback, and pods are scheduled after each.
func TestWhoFollowsThePagesWithoutHelm(t *testing.T) {
	r := newReader(t)
	systemd := &services{reader: r, running: map[string]*lab.Process{}}
	r.played = map[string]func([]string) error{"systemctl": systemd.systemctl, "systemd-sysusers": systemd.sysusers}

	// What the page calls a place, and nothing else, is below a directory of the lab, or a free port.
	root := filepath.Join(r.lab.Directory, "root")
	var substitutes []string
	ports := map[string]string{}
	named := places(t, "installation.md", "As services")
	if !slices.Equal(named, ours) {
		t.Fatalf("the page has the places %q; this test keeps from this machine's own %q", named, ours)
	}
	for _, place := range named {
		there := root + place
		if !filepath.IsAbs(place) {
			var err error
			there, err = freePort()
			r.ok(err)
			ports[place] = there
		}
		substitutes = append(substitutes, place, there)
	}
	r.substitute = strings.NewReplacer(substitutes...)
	for _, directory := range []string{"/usr/bin", "/etc/systemd/system", "/etc/sysusers.d", "/etc/kubernetes"} {
		r.ok(os.MkdirAll(root+directory, 0o700))
	}
	login := fmt.Sprintf(kubeconfig, r.plane.URL, r.plane.Config.BearerToken, "system:kube-scheduler")
	r.ok(os.WriteFile(root+"/etc/kubernetes/scheduler.conf", []byte(login), 0o600))
	scheduled := func(weight int64) {
		t.Helper()
		r.scheduled(root+socket, "http://127.0.0.1:"+ports["8612"], weight)
	}

	r.follow("installation.md", "As services")
	r.follow("scheduling.md", "Without Helm")
	r.follow("scheduling.md", "A first pod")
	scheduled(2)
	installed := systemd.running["kube-scheduler-headroom"]
	r.follow("operating.md", "Upgrade without Helm")
	if installed.Running() || !systemd.running["kube-scheduler-headroom"].Running() {
		t.Error("the upgrade left the old kube-scheduler-headroom running, or none")
	}
	scheduled(2)
	r.follow("operating.md", "A new profile without Helm")
	scheduled(3)
	r.follow("operating.md", "Rollback without Helm")
	scheduled(2)
	log, err := systemd.running["kube-scheduler-headroom"].Log()
	r.ok(err)
	if strings.Contains(log, "forbidden") {
		t.Errorf("the scheduler lacks rights:\n%s", log)
	}
	r.follow("operating.md", "Uninstall without Helm")
	_, err = r.plane.Client.RbacV1().ClusterRoles().Get(r.ctx, release, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("after the uninstall there is its ClusterRole: %v", err)
	}
}

// The same with Helm. What no lab has, the Deployment's controller and the kubelet, is played with one real pod.
func TestWhoFollowsThePagesWithHelm(t *testing.T) {
	r := newReader(t)
	deployment := playDeployment(r)
	scheduled := func(weight int64) {
		t.Helper()
		headroomd := deployment.current().headroomd
		r.scheduled(strings.TrimPrefix(headroomd.Address, "unix://"), headroomd.Metrics, weight)
	}

	r.follow("scheduling.md", "With Helm")
	r.follow("scheduling.md", "A first pod")
	scheduled(standardWeight)
	installed := deployment.files(r.ctx)
	r.follow("operating.md", "Upgrade with Helm")
	scheduled(2)
	if maps.Equal(installed, deployment.files(r.ctx)) {
		t.Error("the upgrade changed nothing")
	}
	r.follow("operating.md", "Rollback with Helm")
	scheduled(standardWeight)
	if !maps.Equal(installed, deployment.files(r.ctx)) {
		t.Errorf("the rollback left %v", deployment.files(r.ctx))
	}
	r.follow("operating.md", "Uninstall with Helm")
	roles, err := r.plane.Client.RbacV1().ClusterRoles().List(r.ctx, ofRelease)
	r.ok(err)
	if len(roles.Items) > 0 {
		t.Errorf("after the uninstall there is %s", roles.Items[0].Name)
	}
}

// ofRelease is what the chart labels.
var ofRelease = metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release}

// standardWeight is LimitAware's in the standard profile.
const standardWeight = 1

// Whatever a page tells to type is typed by one of the tests above.
func TestNoCommandOfThePagesIsLeftOut(t *testing.T) {
	source, err := os.ReadFile("pages_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"installation.md", "scheduling.md", "operating.md"} {
		found := 0
		titles, lines := sections(t, page)
		for _, title := range titles {
			if !slices.Contains(lines[title], "```sh") {
				continue
			}
			found++
			if !strings.Contains(string(source), fmt.Sprintf("r.follow(%q, %q)", page, title)) {
				t.Errorf("%s, %q: nobody types its commands", page, title)
			}
		}
		if found == 0 {
			t.Errorf("%s has no commands", page)
		}
	}
}
