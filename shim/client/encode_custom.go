package client

import (
	flatbuffers "github.com/google/flatbuffers/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/wire"
)

// nodeMetric: slo.koordinator.sh/v1alpha1.
func (e *encoder) nodeMetric(object *unstructured.Unstructured) (flatbuffers.UOffsetT, error) {
	var c customFields
	spec := c.object("spec", object.Object["spec"])
	policy := c.object("spec.metricCollectPolicy", spec["metricCollectPolicy"])
	interval := c.integer("spec.metricCollectPolicy.reportIntervalSeconds", policy["reportIntervalSeconds"])
	status := c.object("status", object.Object["status"])
	updated := c.timestamp("status.updateTime", status["updateTime"])
	name := e.string(object.GetName())
	metric := c.object("status.nodeMetric", status["nodeMetric"])
	nodeUsage := e.usage(&c, "status.nodeMetric.nodeUsage", metric["nodeUsage"])
	systemUsage := e.usage(&c, "status.nodeMetric.systemUsage", metric["systemUsage"])
	var aggregated flatbuffers.UOffsetT
	const aggregatedPath = "status.nodeMetric.aggregatedNodeUsages"
	if list := c.list(aggregatedPath, metric["aggregatedNodeUsages"]); len(list) > 0 {
		mark := e.mark()
		for _, item := range list {
			e.push(e.aggregatedUsage(&c, c.object(aggregatedPath, item)))
		}
		aggregated = e.vector(mark)
	}
	var pods flatbuffers.UOffsetT
	if list := c.list("status.podsMetric", status["podsMetric"]); len(list) > 0 {
		mark := e.mark()
		for _, item := range list {
			e.push(e.podMetric(&c, c.object("status.podsMetric", item)))
		}
		pods = e.vector(mark)
	}
	if c.err != nil {
		return 0, c.err
	}
	wire.NodeMetricStart(e.b)
	wire.NodeMetricAddName(e.b, name)
	wire.NodeMetricAddReportIntervalSeconds(e.b, interval)
	wire.NodeMetricAddUpdateTimeUs(e.b, updated)
	wire.NodeMetricAddHasNodeMetric(e.b, metric != nil)
	wire.NodeMetricAddNodeUsage(e.b, nodeUsage)
	wire.NodeMetricAddSystemUsage(e.b, systemUsage)
	wire.NodeMetricAddAggregated(e.b, aggregated)
	wire.NodeMetricAddPods(e.b, pods)
	return wire.NodeMetricEnd(e.b), nil
}

// aggregatedUsage: {duration, usage: {avg: {resources}, p95: ...}}.
func (e *encoder) aggregatedUsage(c *customFields, item map[string]any) flatbuffers.UOffsetT {
	const path = "status.nodeMetric.aggregatedNodeUsages.usage"
	duration := c.duration("status.nodeMetric.aggregatedNodeUsages.duration", item["duration"])
	var usage flatbuffers.UOffsetT
	if byType := c.object(path, item["usage"]); len(byType) > 0 {
		mark := e.mark()
		for kind, value := range byType {
			k := e.string(kind)
			u := e.usage(c, path, value)
			wire.UsageOfTypeStart(e.b)
			wire.UsageOfTypeAddType(e.b, k)
			wire.UsageOfTypeAddUsage(e.b, u)
			e.push(wire.UsageOfTypeEnd(e.b))
		}
		usage = e.vector(mark)
	}
	wire.AggregatedUsageStart(e.b)
	wire.AggregatedUsageAddDurationUs(e.b, duration)
	wire.AggregatedUsageAddUsage(e.b, usage)
	return wire.AggregatedUsageEnd(e.b)
}

func (e *encoder) podMetric(c *customFields, item map[string]any) flatbuffers.UOffsetT {
	namespace := e.optional(c.text("status.podsMetric.namespace", item["namespace"]))
	name := e.optional(c.text("status.podsMetric.name", item["name"]))
	usage := e.usage(c, "status.podsMetric.podUsage", item["podUsage"])
	priority := e.optional(c.text("status.podsMetric.priority", item["priority"]))
	wire.PodMetricInfoStart(e.b)
	wire.PodMetricInfoAddNamespaceName(e.b, namespace)
	wire.PodMetricInfoAddName(e.b, name)
	wire.PodMetricInfoAddUsage(e.b, usage)
	wire.PodMetricInfoAddPriority(e.b, priority)
	return wire.PodMetricInfoEnd(e.b)
}

// usage: {resources: {cpu: ...}}.
func (e *encoder) usage(c *customFields, path string, value any) flatbuffers.UOffsetT {
	resources := c.object(path, c.object(path, value)["resources"])
	if len(resources) == 0 {
		return 0
	}
	return e.customResources(c, path, resources)
}

func (e *encoder) customResources(c *customFields, path string, resources map[string]any) flatbuffers.UOffsetT {
	mark := e.mark()
	for name, quantity := range resources {
		n := e.string(name)
		e.push(e.resource(n, e.string(c.quantity(path, quantity))))
	}
	return e.vector(mark)
}

// elasticQuota: scheduling.x-k8s.io/v1alpha1. A list that is absent bounds otherwise than an empty one.
func (e *encoder) elasticQuota(object *unstructured.Unstructured) (flatbuffers.UOffsetT, error) {
	var c customFields
	spec := c.object("spec", object.Object["spec"])
	namespace := e.string(object.GetNamespace())
	name := e.string(object.GetName())
	var least, most flatbuffers.UOffsetT
	if list := c.object("spec.min", spec["min"]); list != nil {
		least = e.customResources(&c, "spec.min", list)
	}
	if list := c.object("spec.max", spec["max"]); list != nil {
		most = e.customResources(&c, "spec.max", list)
	}
	if c.err != nil {
		return 0, c.err
	}
	wire.ElasticQuotaStart(e.b)
	wire.ElasticQuotaAddNamespaceName(e.b, namespace)
	wire.ElasticQuotaAddName(e.b, name)
	wire.ElasticQuotaAddMin(e.b, least)
	wire.ElasticQuotaAddMax(e.b, most)
	return wire.ElasticQuotaEnd(e.b), nil
}

// capacityQuota: autoscaling.x-k8s.io/v1beta1. Selector and limits go as written: the server says what
// cannot be used.
func (e *encoder) capacityQuota(object *unstructured.Unstructured) (flatbuffers.UOffsetT, error) {
	var c customFields
	spec := c.object("spec", object.Object["spec"])
	name := e.string(object.GetName())
	selector := e.customSelector(&c, c.object("spec.selector", spec["selector"]))
	var limits flatbuffers.UOffsetT
	const limitsPath = "spec.limits.resources"
	if list := c.object(limitsPath, c.object("spec.limits", spec["limits"])["resources"]); len(list) > 0 {
		mark := e.mark()
		for resource, limit := range list {
			text := ""
			if limit != nil {
				text = c.quantity(limitsPath, limit)
			}
			e.push(e.keyValue(resource, text))
		}
		limits = e.vector(mark)
	}
	if c.err != nil {
		return 0, c.err
	}
	wire.CapacityQuotaStart(e.b)
	wire.CapacityQuotaAddName(e.b, name)
	wire.CapacityQuotaAddGeneration(e.b, object.GetGeneration())
	wire.CapacityQuotaAddSelector(e.b, selector)
	wire.CapacityQuotaAddLimits(e.b, limits)
	return wire.CapacityQuotaEnd(e.b), nil
}

func (e *encoder) customSelector(c *customFields, selector map[string]any) flatbuffers.UOffsetT {
	const labelsPath, expressionsPath = "spec.selector.matchLabels", "spec.selector.matchExpressions"
	labels := c.object(labelsPath, selector["matchLabels"])
	expressions := c.list(expressionsPath, selector["matchExpressions"])
	if len(labels)+len(expressions) == 0 {
		return 0
	}
	mark := e.mark()
	for _, item := range expressions {
		expression := c.object(expressionsPath, item)
		var values []string
		for _, value := range c.list(expressionsPath+".values", expression["values"]) {
			values = append(values, c.text(expressionsPath+".values", value))
		}
		e.push(e.requirement(c.text(expressionsPath+".key", expression["key"]),
			c.text(expressionsPath+".operator", expression["operator"]), values))
	}
	for key, value := range labels {
		e.push(e.requirement(key, string(metav1.LabelSelectorOpIn), []string{c.text(labelsPath, value)}))
	}
	return e.vector(mark)
}
