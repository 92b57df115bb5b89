package check

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/lab"
)

// List reads a cluster from the API server.
func List(ctx context.Context, plane *lab.ControlPlane) (Cluster, error) {
	var cluster Cluster
	nodes, err := plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return cluster, err
	}
	cluster.Nodes = nodes.Items
	if cluster.Pods, err = plane.Pods(ctx, ""); err != nil {
		return cluster, err
	}
	metrics, err := plane.Dynamic.Resource(lab.NodeMetrics).List(ctx, metav1.ListOptions{})
	if err != nil {
		return cluster, err
	}
	for i := range metrics.Items {
		metric, err := readMetric(&metrics.Items[i])
		if err != nil {
			return cluster, err
		}
		cluster.NodeMetrics = append(cluster.NodeMetrics, metric)
	}
	quotas, err := plane.Dynamic.Resource(lab.ElasticQuotas).List(ctx, metav1.ListOptions{})
	if err != nil {
		return cluster, err
	}
	for i := range quotas.Items {
		object := &quotas.Items[i]
		quota := ElasticQuota{Namespace: object.GetNamespace(), Name: object.GetName()}
		if quota.Min, err = readAmounts(object, "spec", "min"); err != nil {
			return cluster, err
		}
		if quota.Max, err = readAmounts(object, "spec", "max"); err != nil {
			return cluster, err
		}
		cluster.ElasticQuotas = append(cluster.ElasticQuotas, quota)
	}
	return cluster, nil
}

func readMetric(object *unstructured.Unstructured) (NodeMetric, error) {
	metric := NodeMetric{Node: object.GetName()}
	text, found, err := unstructured.NestedString(object.Object, "status", "updateTime")
	if err != nil {
		return metric, err
	}
	if found {
		if metric.Updated, err = time.Parse(time.RFC3339, text); err != nil {
			return metric, err
		}
	}
	metric.Usage, err = readAmounts(object, "status", "nodeMetric", "nodeUsage", "resources")
	return metric, err
}

func readAmounts(object *unstructured.Unstructured, path ...string) (v1.ResourceList, error) {
	values, _, err := unstructured.NestedMap(object.Object, path...)
	if err != nil {
		return nil, err
	}
	list := v1.ResourceList{}
	for name, value := range values {
		quantity, err := resource.ParseQuantity(fmt.Sprint(value))
		if err != nil {
			return nil, fmt.Errorf("%s %s: %v: %s: %w", object.GetKind(), object.GetName(), path, name, err)
		}
		list[v1.ResourceName(name)] = quantity
	}
	return list, nil
}
