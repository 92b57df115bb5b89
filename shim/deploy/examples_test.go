package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"headroom.dev/shim/lab"
)

// examples are the values in deploy/examples.
func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../deploy/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no values in deploy/examples: ", err)
	}
	return files
}

// Every example passes Helm and its schema, and an API server would apply what comes of it.
func TestExamplesAreApplied(t *testing.T) {
	ctx, _, plane := startPlane(t)
	for _, example := range examples(t) {
		if out, problems, err := helm(t, "lint", "--strict", "--quiet", chart, "--values", example); err != nil {
			t.Errorf("helm lint of %s: %v\n%s%s", example, err, out, problems)
		}
		applied := apply(t, ctx, plane, "example", render(t, "--values", example), metav1.DryRunAll)
		t.Logf("%s: %d objects", filepath.Base(example), applied)
	}
}

// apply is kubectl apply --server-side, strict, and with metav1.DryRunAll for a try; how many objects that was.
func apply(t *testing.T, ctx context.Context, plane *lab.ControlPlane, manager string,
	objects []*unstructured.Unstructured, dryRun ...string) (applied int) {
	t.Helper()
	for object, resource := range resources(t, plane, objects) {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
			DryRun: dryRun, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Errorf("%s: %s %s: %v", manager, object.GetKind(), object.GetName(), err)
		}
		applied++
	}
	return applied
}

// Both programs take what the examples configure; a plugin that only the user's own kube-scheduler has, ours misses.
func TestProgramsTakeTheExamples(t *testing.T) {
	l := lab.ForTest(t)
	if err := l.Binaries.HasHeadroom(); err != nil {
		t.Skip(err)
	}
	for _, example := range examples(t) {
		objects := render(t, "--values", example)
		config := schedulerConfig(t, objects)
		complaint := schedulerTakes(t, l.Binaries.Scheduler, config)
		if filepath.Base(example) == "own-plugins.yaml" {
			if !strings.Contains(complaint, "LicensedNodes") {
				t.Errorf("%s: its plugin is not looked for: %q\n%s", example, complaint, config)
			}
		} else if complaint != "" {
			t.Errorf("%s: %s\n%s", example, complaint, config)
		}
		daemon, err := startHeadroomd(t.Context(), l, configFiles(t, objects))
		if err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		l.Forget(daemon.Process)
	}
}

// Releases of one cluster share no object: two of a namespace, two of one name in different namespaces, and two whose
// namespace and name read the same in a row.
func TestReleasesBesideEachOther(t *testing.T) {
	ctx, _, plane := startPlane(t)
	if err := plane.CreateNamespaces(ctx, "batch", "kube"); err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, release := range []struct{ namespace, name string }{
		{"kube-system", "headroom"}, {"kube-system", "batch"}, {"batch", "headroom"}, {"batch", "batch"},
		{"kube", "system-headroom"}, {"kube-system", "headroom-kube-scheduler"},
	} {
		manager := release.namespace + "/" + release.name
		text, problems, err := helm(t, "template", release.name, chart, "--namespace", release.namespace,
			"--kube-version", kubeVersion, "--set", "schedulerNames={"+release.namespace+"-"+release.name+"}")
		if err != nil {
			t.Fatalf("%v\n%s", err, problems)
		}
		objects := objectsOf(t, text)
		for _, object := range objects {
			key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
			if other := owner[key]; other != "" {
				t.Errorf("%s and %s both have %s", other, manager, key)
			}
			owner[key] = manager
		}
		// Another manager's fields would be a conflict.
		apply(t, ctx, plane, manager, objects)
	}
	bindings, err := plane.Client.RbacV1().ClusterRoleBindings().List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=headroom"})
	if err != nil || len(bindings.Items) != 6*3 {
		t.Errorf("%d ClusterRoleBindings, error %v", len(bindings.Items), err)
	}
	leases := map[string]bool{}
	for key := range owner {
		if strings.HasPrefix(key, "Role ") {
			leases[key] = true
		}
	}
	if len(leases) != 6 {
		t.Errorf("leases of their own: %v", leases)
	}
}
