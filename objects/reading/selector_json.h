// Selectors of labels and of nodes from JSON. Internal to objects/.
//
// False after the first error, as in json_fields.h. Operators are checked where Kubernetes checks
// them; values are not, since what cannot be compared matches nothing.
#pragma once

#include "objects/reading/json_fields.h"

namespace headroom {

// Added to `out`: matchExpressions, then matchLabels by key.
bool read_label_selector(const FieldPath& path, JsonValue value, FieldErrors& errors,
                         LabelSelector& out);
// The same where any text may stand as operator and key.
bool read_label_selector_as_written(const FieldPath& path, JsonValue value, FieldErrors& errors,
                                    LabelSelector& out);
// An entry of nodeSelectorTerms.
bool read_node_selector_term(const FieldPath& path, JsonValue value, FieldErrors& errors,
                             NodeSelectorTerm& out);
// {"nodeSelectorTerms": [...]}
bool read_node_selector(const FieldPath& path, JsonValue value, FieldErrors& errors,
                        std::vector<NodeSelectorTerm>& out);

}  // namespace headroom
