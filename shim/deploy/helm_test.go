// Package deploy checks deploy/ and the pages that tell how to install it: what Helm renders of deploy/chart, what a
// real API server says to that, what kube-scheduler and headroomd say to their configurations, what its service account
// may do; the units; and the pages' own commands, from install to rollback. It has tests only.
package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"headroom.dev/shim/lab"
)

const (
	chart      = "../../deploy/chart"
	everyValue = "testdata/every-value.yaml"
	release    = "headroom"
	namespace  = "kube-system"
	// What the rendered objects are for; the lab's API server is of that minor.
	kubeVersion = "1.37.1"
)

// helm runs Helm, the one that tools/build-shim lab builds or the machine's, and returns what it says.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	// Only where programs are is asked; others may be missing.
	binaries, _ := lab.FindBinaries()
	path, err := exec.LookPath(filepath.Join(filepath.Dir(binaries.ControlPlane), "helm"))
	if err != nil {
		if path, err = exec.LookPath("helm"); err != nil {
			t.Skip("there is no helm; tools/build-shim lab builds it")
		}
	}
	var out, problems bytes.Buffer
	command := exec.Command(path, args...)
	command.Stdout, command.Stderr = &out, &problems
	err = command.Run()
	return out.String(), problems.String(), err
}

func template(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return helm(t, append([]string{"template", release, chart, "--namespace", namespace,
		"--kube-version", kubeVersion}, args...)...)
}

// render is the objects of the chart with these arguments to helm template.
func render(t *testing.T, args ...string) []*unstructured.Unstructured {
	t.Helper()
	text, problems, err := template(t, args...)
	if err != nil {
		t.Fatalf("helm template %v: %v\n%s", args, err, problems)
	}
	return objectsOf(t, text)
}

// objectsOf a text of YAML documents.
func objectsOf(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split(text, "\n---\n") {
		var content map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if content != nil {
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
	}
	return objects
}

// find is the one object of that kind and name; nil where there is none.
func find(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}

// typed is that object as the type that into points to.
func typed[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	object := find(objects, kind, name)
	if object == nil {
		t.Fatalf("no %s %s is rendered", kind, name)
	}
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return into
}

// file writes a text into the test's directory.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
