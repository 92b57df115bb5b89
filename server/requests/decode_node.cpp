// Nodes and their metrics.
#include "server/requests/decode.h"
#include "server/requests/decoder.h"

namespace headroom {

Result<std::size_t> decode(const wire::Node& in, Node& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  decoder.map("labels", in.labels(), out.labels);
  decoder.map("annotations", in.annotations(), out.annotations);
  out.unschedulable = in.unschedulable();
  decoder.list("taints", in.taints(), out.taints, [&](const wire::Taint& item, Taint& taint) {
    decoder.string("key", item.key(), taint.key);
    decoder.string("value", item.value(), taint.value);
    decoder.string("effect", item.effect(), taint.effect);
  });
  decoder.resources("allocatable", in.allocatable(), out.allocatable);
  decoder.resources("capacity", in.capacity(), out.capacity);
  out.deleting = in.deleting();
  decoder.list("images", in.images(), out.images,
               [&](const wire::ContainerImage& item, ContainerImage& image) {
                 decoder.strings("names", item.names(), image.names);
                 image.size_bytes = item.size_bytes();
                 if (image.size_bytes < 0) {
                   decoder.refuse(ErrorCode::kInvalid, "images",
                                  fmt::format("size {} is negative", image.size_bytes));
                 }
               });
  decoder.strings("declaredFeatures", in.declared_features(), out.declared_features);
  decoder.sort_names("declaredFeatures", out.declared_features);
  return decoder.result([&] { return fmt::format("node {}", text(in.name())); });
}

Result<std::size_t> decode(const wire::NodeMetric& in, NodeMetric& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  out.report_interval_seconds = Decoder::optional(in.report_interval_seconds());
  out.update_time_us = Decoder::optional(in.update_time_us());
  out.has_node_metric = in.has_node_metric();
  decoder.resources("nodeUsage", in.node_usage(), out.node_usage);
  decoder.resources("systemUsage", in.system_usage(), out.system_usage);
  decoder.list("aggregated", in.aggregated(), out.aggregated,
               [&](const wire::AggregatedUsage& item, AggregatedUsage& aggregated) {
                 aggregated.duration_us = item.duration_us();
                 decoder.list("usage", item.usage(), aggregated.usage,
                              [&](const wire::UsageOfType& of_type,
                                  std::pair<std::string, ResourceList>& usage) {
                                decoder.string("type", of_type.type(), usage.first);
                                decoder.resources("usage", of_type.usage(), usage.second);
                              });
                 decoder.sort_names("usage", aggregated.usage);
               });
  decoder.list("pods", in.pods(), out.pods,
               [&](const wire::PodMetricInfo& item, PodMetricInfo& pod) {
                 decoder.string("namespace", item.namespace_name(), pod.namespace_name);
                 decoder.string("name", item.name(), pod.name);
                 decoder.resources("usage", item.usage(), pod.usage);
                 decoder.string("priority", item.priority(), pod.priority);
               });
  return decoder.result([&] { return fmt::format("nodemetric {}", text(in.name())); });
}

}  // namespace headroom
