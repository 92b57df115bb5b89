package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The custom resources that Headroom reads.
var (
	NodeMetrics    = schema.GroupVersionResource{Group: "slo.koordinator.sh", Version: "v1alpha1", Resource: "nodemetrics"}
	ElasticQuotas  = schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "elasticquotas"}
	CapacityQuotas = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacityquotas"}

	definitions = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

const (
	establishedPatience = 30 * time.Second
	// The definitions that the chart installs, in files named GROUP_RESOURCE.yaml.
	chartDefinitions = "deploy/chart/crds"
)

// InstallCRDs of NodeMetric, ElasticQuota and CapacityQuota, and waits until they are served. Those that are there
// stay. Those of quotas are the chart's own.
func (c *ControlPlane) InstallCRDs(ctx context.Context) error {
	all := []*unstructured.Unstructured{nodeMetricDefinition()}
	for _, quotas := range []schema.GroupVersionResource{ElasticQuotas, CapacityQuotas} {
		definition, err := ChartDefinition(quotas)
		if err != nil {
			return err
		}
		all = append(all, definition)
	}
	for _, definition := range all {
		_, err := c.Dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{
			FieldValidation: metav1.FieldValidationStrict})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("lab: %s: %w", definition.GetName(), err)
		}
	}
	for _, custom := range []schema.GroupVersionResource{NodeMetrics, ElasticQuotas, CapacityQuotas} {
		err := Eventually(ctx, establishedPatience, func() error {
			_, err := c.Dynamic.Resource(custom).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
		if err != nil {
			return fmt.Errorf("lab: %s is not served: %w", custom.Resource, err)
		}
	}
	return nil
}

// ChartDefinition is the CustomResourceDefinition that the chart has of quotas.
func ChartDefinition(quotas schema.GroupVersionResource) (*unstructured.Unstructured, error) {
	path := filepath.Join(repositoryRoot(), chartDefinitions, quotas.Group+"_"+quotas.Resource+".yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(text, &definition.Object); err != nil {
		return nil, fmt.Errorf("lab: %s: %w", path, err)
	}
	return definition, nil
}

// nodeMetricDefinition has a status subresource and any fields: koordinator's own is not ours to ship.
func nodeMetricDefinition() *unstructured.Unstructured {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definitions.GroupVersion().String(),
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": NodeMetrics.Resource + "." + NodeMetrics.Group},
		"spec": map[string]any{
			"group": NodeMetrics.Group,
			"scope": "Cluster",
			"names": map[string]any{"plural": NodeMetrics.Resource, "singular": "nodemetric", "kind": "NodeMetric",
				"listKind": "NodeMetricList"},
			"versions": []any{map[string]any{
				"name": NodeMetrics.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":       "object",
					"properties": map[string]any{"spec": anything, "status": anything},
				}},
			}},
		},
	}}
}

// Put creates a custom resource or replaces its spec, and its status where it has one.
func (c *ControlPlane) Put(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	client := c.Dynamic.Resource(resource).Namespace(object.GetNamespace())
	stored, err := client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if stored, err = client.Get(ctx, object.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		next := object.DeepCopy()
		next.SetResourceVersion(stored.GetResourceVersion())
		stored, err = client.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	status, found := object.Object["status"]
	if !found {
		return nil
	}
	stored.Object["status"] = status
	_, err = client.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
	return err
}

// Amounts are quantities by resource name: {"cpu": "4"}.
type Amounts map[string]string

func (a Amounts) any() map[string]any {
	values := map[string]any{}
	for name, quantity := range a {
		values[name] = quantity
	}
	return values
}

// NodeMetric reports a node's usage as koordlet does.
type NodeMetric struct {
	Node           string
	Updated        time.Time // zero: no report yet
	Usage          Amounts
	ReportInterval time.Duration // 0: not given
	// Usage of pods, by namespace/name.
	Pods map[[2]string]Amounts
}

// Put creates or replaces it.
func (m NodeMetric) Put(ctx context.Context, plane *ControlPlane) error {
	spec, status := map[string]any{}, map[string]any{}
	if m.ReportInterval > 0 {
		spec["metricCollectPolicy"] = map[string]any{"reportIntervalSeconds": int64(m.ReportInterval / time.Second)}
	}
	if !m.Updated.IsZero() {
		status["updateTime"] = m.Updated.UTC().Format(time.RFC3339)
	}
	if m.Usage != nil {
		status["nodeMetric"] = map[string]any{"nodeUsage": map[string]any{"resources": m.Usage.any()}}
	}
	var pods []any
	for key, usage := range m.Pods {
		pods = append(pods, map[string]any{"namespace": key[0], "name": key[1],
			"podUsage": map[string]any{"resources": usage.any()}})
	}
	if pods != nil {
		status["podsMetric"] = pods
	}
	return plane.Put(ctx, NodeMetrics, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": NodeMetrics.GroupVersion().String(), "kind": "NodeMetric",
		"metadata": map[string]any{"name": m.Node}, "spec": spec, "status": status,
	}})
}

// ElasticQuota of a namespace. A nil map: the field is absent.
type ElasticQuota struct {
	Namespace, Name string
	Min, Max        Amounts
}

// Put creates or replaces it.
func (q ElasticQuota) Put(ctx context.Context, plane *ControlPlane) error {
	spec := map[string]any{}
	if q.Min != nil {
		spec["min"] = q.Min.any()
	}
	if q.Max != nil {
		spec["max"] = q.Max.any()
	}
	return plane.Put(ctx, ElasticQuotas, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": ElasticQuotas.GroupVersion().String(), "kind": "ElasticQuota",
		"metadata": map[string]any{"name": q.Name, "namespace": q.Namespace}, "spec": spec,
	}})
}

// CapacityQuota of all nodes.
type CapacityQuota struct {
	Name   string
	Limits Amounts
}

// Put creates or replaces it.
func (q CapacityQuota) Put(ctx context.Context, plane *ControlPlane) error {
	return plane.Put(ctx, CapacityQuotas, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": CapacityQuotas.GroupVersion().String(), "kind": "CapacityQuota",
		"metadata": map[string]any{"name": q.Name},
		"spec":     map[string]any{"limits": map[string]any{"resources": q.Limits.any()}},
	}})
}
