package lab

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The custom resources that Headroom reads.
var (
	NodeMetrics     = schema.GroupVersionResource{Group: "slo.koordinator.sh", Version: "v1alpha1", Resource: "nodemetrics"}
	ElasticQuotas   = schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "elasticquotas"}
	CapacityQuotas  = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacityquotas"}
	customResources = []customResource{
		{NodeMetrics, "NodeMetric", "nodemetric", "Cluster"},
		{ElasticQuotas, "ElasticQuota", "elasticquota", "Namespaced"},
		{CapacityQuotas, "CapacityQuota", "capacityquota", "Cluster"},
	}

	definitions = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

const establishedPatience = 30 * time.Second

type customResource struct {
	resource       schema.GroupVersionResource
	kind, singular string
	scope          string
}

// InstallCRDs of NodeMetric, ElasticQuota and CapacityQuota, all with a status subresource and any
// fields, and waits until they are served. Those that are there stay.
func (c *ControlPlane) InstallCRDs(ctx context.Context) error {
	for _, custom := range customResources {
		if err := c.installCRD(ctx, custom); err != nil {
			return err
		}
	}
	for _, custom := range customResources {
		err := Eventually(ctx, establishedPatience, func() error {
			_, err := c.Dynamic.Resource(custom.resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
		if err != nil {
			return fmt.Errorf("lab: %s is not served: %w", custom.kind, err)
		}
	}
	return nil
}

// InstallCRD installs one of them.
func (c *ControlPlane) InstallCRD(ctx context.Context, resource schema.GroupVersionResource) error {
	for _, custom := range customResources {
		if custom.resource == resource {
			return c.installCRD(ctx, custom)
		}
	}
	return fmt.Errorf("lab: no CRD of %v", resource)
}

func (c *ControlPlane) installCRD(ctx context.Context, custom customResource) error {
	r := custom.resource
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definitions.GroupVersion().String(),
		"kind":       "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": r.Resource + "." + r.Group,
			// The groups of k8s.io ask for it.
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for tests"},
		},
		"spec": map[string]any{
			"group": r.Group,
			"scope": custom.scope,
			"names": map[string]any{"plural": r.Resource, "singular": custom.singular, "kind": custom.kind,
				"listKind": custom.kind + "List"},
			"versions": []any{map[string]any{
				"name": r.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":       "object",
					"properties": map[string]any{"spec": anything, "status": anything},
				}},
			}},
		},
	}}
	_, err := c.Dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
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
