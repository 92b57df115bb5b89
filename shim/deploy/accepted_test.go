package deploy

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"headroom.dev/shim/lab"
)

// patience with a control plane on a machine that does other things as well.
const patience = 2 * time.Minute

func startPlane(t *testing.T) (context.Context, *lab.Lab, *lab.ControlPlane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	l := lab.ForTest(t)
	plane, err := l.StartControlPlane(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Eventually(ctx, patience, func() error {
		_, err := plane.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return ctx, l, plane
}

// resources finds where objects are created.
func resources(t *testing.T, plane *lab.ControlPlane, objects []*unstructured.Unstructured) map[*unstructured.Unstructured]dynamic.ResourceInterface {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(plane.Client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	found := map[*unstructured.Unstructured]dynamic.ResourceInterface{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			t.Logf("not checked: %s, which this API server does not have", kind)
		case err != nil:
			t.Fatal(err)
		case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
			found[object] = plane.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
		default:
			found[object] = plane.Dynamic.Resource(mapping.Resource)
		}
	}
	return found
}

// A real API server takes every object, strictly, and the pods under the strictest Pod Security Standard.
func TestAnAPIServerAcceptsWhatIsRendered(t *testing.T) {
	objectsOf := map[string][]*unstructured.Unstructured{
		"the defaults": render(t),
		"every value":  render(t, "--values", everyValue),
	}
	ctx, _, plane := startPlane(t)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted",
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := plane.Client.CoreV1().Namespaces().Create(ctx, restricted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, objects := range objectsOf {
		accepted := 0
		for object, resource := range resources(t, plane, objects) {
			_, err := resource.Create(ctx, object, metav1.CreateOptions{
				DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Errorf("%s: %s %s: %v", name, object.GetKind(), object.GetName(), err)
			}
			accepted++
		}
		t.Logf("%s: %d of %d objects tried", name, accepted, len(objects))

		template := typed[appsv1.Deployment](t, objects, "Deployment", release).Spec.Template
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: release, Labels: template.Labels}, Spec: template.Spec}
		if _, err := plane.Client.CoreV1().Pods(restricted.Name).Create(ctx, pod, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Errorf("%s: its pod: %v", name, err)
		}
	}
}

// kube-scheduler itself reads its configuration, strictly, and makes the plugin from it.
func TestKubeSchedulerTakesItsConfiguration(t *testing.T) {
	binaries, _ := lab.FindBinaries()
	if _, err := exec.LookPath(binaries.Scheduler); err != nil {
		t.Skip(err)
	}
	for name, args := range map[string][]string{"the defaults": nil, "every value": {"--values", everyValue}} {
		config := schedulerConfig(t, render(t, args...))
		if complaint := schedulerTakes(t, binaries.Scheduler, config); complaint != "" {
			t.Errorf("%s: %s\n%s", name, complaint, config)
		}
	}
}

// schedulerTakes a configuration, or complains.
func schedulerTakes(t *testing.T, scheduler, config string) (complaint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Nobody is asked at that address before the configuration is written.
	command := exec.CommandContext(ctx, scheduler, "--config="+file(t, "scheduler.yaml", config),
		"--write-config-to="+file(t, "complete.yaml", ""), "--master=https://127.0.0.1:1", "--secure-port=0")
	out, err := command.CombinedOutput()
	if err == nil || strings.Contains(string(out), "Wrote configuration") {
		return ""
	}
	return fmt.Sprintf("%v\n%s", err, out)
}

// headroomd takes its options and its profile.
func TestHeadroomdTakesItsConfiguration(t *testing.T) {
	l := lab.ForTest(t)
	if err := l.Binaries.HasHeadroom(); err != nil {
		t.Skip(err)
	}
	for name, args := range map[string][]string{"the defaults": nil, "every value": {"--values", everyValue}} {
		if _, err := startHeadroomd(t.Context(), l, configFiles(t, render(t, args...))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
