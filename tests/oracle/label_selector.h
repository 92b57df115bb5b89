// metav1.LabelSelector: which selectors can be used, and what they select.
#pragma once

#include <string>
#include <string_view>

#include "objects/objects.h"

namespace oracle {

// validation.IsQualifiedName and IsValidLabelValue.
bool is_label_key(std::string_view text);
bool is_label_value(std::string_view text);

// Why the selector cannot be used; "" where it can. Rules: apimachinery labels.NewRequirement, over
// validation.IsQualifiedName and IsValidLabelValue.
std::string selector_error(const headroom::LabelSelector& selector);

// Of a selector that can be used.
bool selects(const headroom::LabelSelector& selector, const headroom::StringMap& labels);

}  // namespace oracle
