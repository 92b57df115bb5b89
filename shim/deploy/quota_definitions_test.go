package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"headroom.dev/shim/lab"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	quotaKinds  = []schema.GroupVersionResource{lab.ElasticQuotas, lab.CapacityQuotas}
)

// quotaCase is a spec of a quota, and what is said of it by its definition and by the policy, with dots for what is
// between; "": it is taken.
type quotaCase struct {
	kind               schema.GroupVersionResource
	spec               string
	definition, policy string
}

var quotaCases = []quotaCase{
	{lab.ElasticQuotas, `{min: {cpu: 40, memory: 160Gi}, max: {cpu: 80, memory: 320Gi}}`, "", ""},
	{lab.ElasticQuotas, `{}`, "", ""},
	{lab.ElasticQuotas, `{min: {cpu: 2000m}, max: {cpu: 2}}`, "", ""},
	{lab.ElasticQuotas, `{min: {cpu: 4}, max: {memory: 1Gi}}`, "", ""},
	{lab.ElasticQuotas, `{min: {"example.com/gpu": 1.5}, max: {"example.com/gpu": "2"}}`,
		"spec.min.example.com/gpu: Invalid value", ""}, // a JSON number with a fraction is no int-or-string
	{lab.ElasticQuotas, `{min: {cpu: 4x}}`, "spec.min[cpu]: Invalid value...must be a quantity",
		"spec.min must be quantities of 0 or more: cpu"},
	{lab.ElasticQuotas, `{max: {cpu: ""}}`, "spec.max[cpu]: Invalid value...must be a quantity",
		"spec.max must be quantities of 0 or more: cpu"},
	{lab.ElasticQuotas, `{min: {memory: -1}}`, "spec.min[memory]: Invalid value...must not be below 0",
		"spec.min must be quantities of 0 or more: memory"},
	{lab.ElasticQuotas, `{max: {memory: -1Gi}}`, "spec.max[memory]: Invalid value...must not be below 0",
		"spec.max must be quantities of 0 or more: memory"},
	{lab.ElasticQuotas, `{min: {cpu: 8, memory: 1Gi, pods: 3}, max: {cpu: 4000m, memory: 1Gi, pods: 2}}`,
		"spec.min: Invalid value: must not be above max", "spec.min must not be above spec.max: "},
	{lab.ElasticQuotas, `{min: [cpu]}`, "spec.min: Invalid value", "error"},

	{lab.CapacityQuotas, `{limits: {resources: {cpu: 96, memory: 384Gi, nodes: "8"}}}`, "", ""},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {}}`, "", ""},
	{lab.CapacityQuotas, `{limits: {resources: {nodes: 0}}, selector: {matchLabels: {team: a, "example.cloud.com/pool": ""},
		matchExpressions: [{key: zone, operator: NotIn, values: [b, c]}, {key: gpu, operator: Exists}]}}`, "", ""},
	{lab.CapacityQuotas, `{limits: {resources: {cpu: 4x}}}`, "spec.limits.resources[cpu]: Invalid value...must be a quantity",
		"spec.limits.resources must be whole numbers of 0 or more, with names of at most 63 characters: cpu"},
	{lab.CapacityQuotas, `{limits: {resources: {cpu: -4}}}`, "spec.limits.resources[cpu]: Invalid value...must not be below 0",
		"spec.limits.resources must be whole numbers of 0 or more"},
	{lab.CapacityQuotas, `{limits: {resources: {memory: "-4"}}}`, "spec.limits.resources[memory]: Invalid value...must not be below 0",
		"spec.limits.resources must be whole numbers of 0 or more"},
	{lab.CapacityQuotas, `{limits: {resources: {cpu: 500m}}}`, "spec.limits.resources[cpu]: Invalid value...must be a whole number",
		"spec.limits.resources must be whole numbers of 0 or more"},
	{lab.CapacityQuotas, `{limits: {resources: {` + strings.Repeat("x", 64) + `: 1}}}`,
		"spec.limits.resources: Invalid value: the names of its resources must have 1 to 63 characters",
		"with names of at most 63 characters: " + strings.Repeat("x", 64)},
	{lab.CapacityQuotas, `{limits: {resources: ` + manyLimits(21) + `}}`, "spec.limits.resources: Too many: 21",
		"spec.limits.resources must not be more than 20"},
	{lab.CapacityQuotas, `{}`, "spec.limits: Required value", ""},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchLabels: {"a b": c}}}`,
		"spec.selector.matchLabels: Invalid value: its keys must be label keys", "spec.selector.matchLabels must be label keys and values: a b"},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchLabels: {a: "b c"}}}`,
		"spec.selector.matchLabels: Invalid value: its values must be label values", "spec.selector.matchLabels must be label keys and values: a"},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchExpressions: [{key: zone, operator: in, values: [a]}]}}`,
		"spec.selector.matchExpressions[0].operator: Unsupported value", "spec.selector.matchExpressions must be"},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchExpressions: [{key: zone, operator: In}]}}`,
		"spec.selector.matchExpressions[0]: Invalid value: In and NotIn need values", "spec.selector.matchExpressions must be"},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchExpressions: [{key: zone, operator: Exists, values: [a]}]}}`,
		"spec.selector.matchExpressions[0]: Invalid value: Exists and DoesNotExist take no values", "spec.selector.matchExpressions must be"},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchExpressions: [{key: a b, operator: Exists}]}}`,
		"spec.selector.matchExpressions[0].key: Invalid value...must be a label key", "spec.selector.matchExpressions must be"},
	{lab.CapacityQuotas, `{limits: {resources: {}}, selector: {matchExpressions: [{key: a, operator: In, values: [b c]}]}}`,
		"spec.selector.matchExpressions[0].values[0]: Invalid value...must be a label value", "spec.selector.matchExpressions must be"},
}

func manyLimits(n int) string {
	var limits []string
	for i := range n {
		limits = append(limits, fmt.Sprintf("r%d: 1", i))
	}
	return "{" + strings.Join(limits, ", ") + "}"
}

// quota of that spec, in YAML.
func quota(t *testing.T, kind schema.GroupVersionResource, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err, spec)
	}
	if err := object.UnmarshalJSON([]byte(fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q}, "spec": %s}`,
		kind.GroupVersion(), map[bool]string{true: "ElasticQuota", false: "CapacityQuota"}[kind == lab.ElasticQuotas], name, text))); err != nil {
		t.Fatal(err, spec)
	}
	return object
}

func quotasOf(plane *lab.ControlPlane, kind schema.GroupVersionResource) dynamic.ResourceInterface {
	if kind == lab.ElasticQuotas {
		return plane.Dynamic.Resource(kind).Namespace("default")
	}
	return plane.Dynamic.Resource(kind)
}

// judge has the API server try all cases, and finds what it says of each by `said`.
func judge(t *testing.T, ctx context.Context, plane *lab.ControlPlane, said func(quotaCase) string) {
	t.Helper()
	for _, c := range quotaCases {
		_, err := quotasOf(plane, c.kind).Create(ctx, quota(t, c.kind, "tried", c.spec), metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		want := said(c)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s %s: %v", c.kind.Resource, c.spec, err)
		case want != "" && err == nil:
			t.Errorf("%s %s is taken", c.kind.Resource, c.spec)
		case want != "":
			for _, part := range strings.Split(want, "...") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s %s: no %q in: %v", c.kind.Resource, c.spec, part, err)
				}
			}
		}
	}
}

// On a real API server, whose definitions of quotas are the chart's: the lab installs them.
func TestQuotasThatCannotBeUsedAreRefused(t *testing.T) {
	objects := render(t)
	ctx, _, plane := startPlane(t)
	t.Run("by the definitions", func(t *testing.T) {
		judge(t, ctx, plane, func(c quotaCase) string { return c.definition })
	})
	t.Run("kubectl get shows what is used", func(t *testing.T) { showsUse(t, ctx, plane) })
	t.Run("by the policy, where the definitions say nothing", func(t *testing.T) {
		judgeByPolicy(t, ctx, plane, objects)
	})
}

func showsUse(t *testing.T, ctx context.Context, plane *lab.ControlPlane) {
	for kind, c := range map[schema.GroupVersionResource]struct{ spec, status, want string }{
		lab.ElasticQuotas: {`{min: {cpu: 40}}`, `{"status": {"used": {"cpu": "52"}}}`, `Used={"cpu":"52"} Min={"cpu":40} Max=<nil>`},
		lab.CapacityQuotas: {`{limits: {resources: {cpu: 96}}}`, `{"status": {"used": {"resources": {"cpu": "68"}}}}`,
			`Used={"cpu":"68"} Limits={"cpu":96}`},
	} {
		quotas := quotasOf(plane, kind)
		if _, err := quotas.Create(ctx, quota(t, kind, "shown", c.spec), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := quotas.Patch(ctx, "shown", types.MergePatchType, []byte(c.status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		if shown := table(t, ctx, plane, kind); !strings.Contains(shown, c.want) {
			t.Errorf("%s: no %q in %q", kind.Resource, c.want, shown)
		}
	}
}

// table is the first row that kubectl get prints, as NAME=CELL.
func table(t *testing.T, ctx context.Context, plane *lab.ControlPlane, kind schema.GroupVersionResource) string {
	t.Helper()
	text, err := plane.Client.Discovery().RESTClient().Get().AbsPath("/apis", kind.Group, kind.Version, kind.Resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var printed metav1.Table
	if err := json.Unmarshal(text, &printed); err != nil || len(printed.Rows) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	var cells []string
	for i, column := range printed.ColumnDefinitions {
		cells = append(cells, fmt.Sprintf("%s=%v", column.Name, printed.Rows[0].Cells[i]))
	}
	return strings.Join(cells, " ")
}

// judgeByPolicy takes away what the definitions say, as of somebody else's, so that the policy alone judges.
func judgeByPolicy(t *testing.T, ctx context.Context, plane *lab.ControlPlane, objects []*unstructured.Unstructured) {
	const bad, other = `{min: {cpu: -1}, limits: {resources: {cpu: -1}}}`, `{"spec": {"min": {"cpu": -2}, "limits": {"resources": {"cpu": -2}}}}`
	for _, kind := range quotaKinds {
		sayNothing(t, ctx, plane, kind)
		// The API server takes a moment.
		if err := lab.Eventually(ctx, patience, func() error {
			_, err := quotasOf(plane, kind).Create(ctx, quota(t, kind, "before", bad), metav1.CreateOptions{})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for object, resource := range resources(t, plane, objects) {
		if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			if _, err := resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kind := range quotaKinds {
		if err := lab.Eventually(ctx, patience, func() error {
			if _, err := quotasOf(plane, kind).Create(ctx, quota(t, kind, "tried", bad), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				return nil
			}
			return fmt.Errorf("the policy does not hold for %s yet", kind.Resource)
		}); err != nil {
			t.Fatal(err)
		}
	}
	judge(t, ctx, plane, func(c quotaCase) string { return c.policy })

	t.Log("what was there before may be labelled and deleted, but not changed into something else that is bad")
	for _, kind := range quotaKinds {
		quotas := quotasOf(plane, kind)
		if _, err := quotas.Patch(ctx, "before", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{}); err != nil {
			t.Errorf("labelling: %v", err)
		}
		if _, err := quotas.Patch(ctx, "before", types.MergePatchType, []byte(other), metav1.PatchOptions{}); err == nil {
			t.Errorf("%s: another bad spec is taken", kind.Resource)
		}
		if err := quotas.Delete(ctx, "before", metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
}

// sayNothing takes all that a definition says of spec and status out of it.
func sayNothing(t *testing.T, ctx context.Context, plane *lab.ControlPlane, kind schema.GroupVersionResource) {
	t.Helper()
	name := kind.Resource + "." + kind.Group
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition, err := plane.Dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
		"properties": map[string]any{"spec": anything, "status": anything}}}
	_ = unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")
	if _, err := plane.Dynamic.Resource(definitions).Update(ctx, definition, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
