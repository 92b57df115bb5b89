// Writes objects as the JSON that object_reader.h reads: one object on one line, in kubectl's form.
//
// What was read is written back so that reading it again gives an equal object. Fields that
// Headroom does not read are not written. Cost: appends to the text, allocates little else.
#pragma once

#include <string>

#include "objects/objects.h"
#include "objects/writing/referred_json_writer.h"

namespace headroom {

void append_json(std::string& text, const Node& node);
void append_json(std::string& text, const Pod& pod);
void append_json(std::string& text, const NodeMetric& metric);
void append_json(std::string& text, const ElasticQuota& quota);
void append_json(std::string& text, const PodDisruptionBudget& budget);
void append_json(std::string& text, const PriorityClass& priority_class);
void append_json(std::string& text, const CapacityQuota& quota);

}  // namespace headroom
