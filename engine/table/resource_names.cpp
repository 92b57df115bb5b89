#include "engine/table/resource_names.h"

#include <algorithm>
#include <cstdint>

#include "engine/limits.h"
#include "objects/assert.h"

namespace headroom {

std::uint32_t ResourceNames::count() const {
  return static_cast<std::uint32_t>(
      std::count_if(names_.begin(), names_.end(), [](const auto& name) { return !name.empty(); }));
}

ResourceId ResourceNames::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() || name.empty() ? kNoResource
                                               : static_cast<ResourceId>(found - names_.begin());
}

bool ResourceNames::full() const { return count() == kResourcesMax; }

// A free number, or a new one; kNoResource where there is none.
ResourceId ResourceNames::take(std::string_view name) {
  const auto free = std::find(names_.begin(), names_.end(), std::string());
  const auto id = static_cast<ResourceId>(free - names_.begin());
  if (free != names_.end()) {
    *free = name;
  } else if (names_.size() == kResourcesMax) {
    return kNoResource;
  } else {
    names_.emplace_back(name);
    pinned_.push_back(false);
  }
  return id;
}

ResourceId ResourceNames::pin(std::string_view name) {
  const ResourceId known = find(name);
  const ResourceId id = known != kNoResource ? known : take(name);
  if (id != kNoResource) {
    pinned_[id] = true;
  }
  return id;
}

bool ResourceNames::is_borrowed(ResourceId id) const {
  return !is_free(id) && !pinned_[id] && !held_.contains(names_[id]);
}

bool ResourceNames::beyond(std::string_view name) const {
  return held_.contains(name) && find(name) == kNoResource;
}

bool ResourceNames::has_room_for(const std::vector<std::string>& names) const {
  std::size_t needed =
      held_.size() + static_cast<std::size_t>(std::count(pinned_.begin(), pinned_.end(), true));
  for (const std::string& name : names) {
    const ResourceId id = find(name);
    needed += !held_.contains(name) && (id == kNoResource || !pinned_[id]);
  }
  return needed <= kResourcesMax;
}

void ResourceNames::hold(std::string_view name, Change& change) {
  const ResourceId known = find(name);
  if (name.empty() || (known != kNoResource && pinned_[known])) {
    return;
  }
  const auto [held, is_new] = held_.try_emplace(std::string(name), 0);
  if (++held->second > 1 || known != kNoResource) {
    return;  // a name that was borrowed is held from now on
  }
  change.names.emplace_back(name);
  if (take(name) != kNoResource) {
    return;
  }
  // The last of those that are only borrowed has to go, else the last by name.
  ResourceId last = kNoResource;
  for (ResourceId id = 0; id < size(); ++id) {
    const bool goes = !pinned_[id] && (is_borrowed(id) || names_[id] > name);
    const auto rank = [this](ResourceId of) { return std::pair(is_borrowed(of), names_[of]); };
    if (goes && (last == kNoResource || rank(last) < rank(id))) {
      last = id;
    }
  }
  if (last == kNoResource) {
    ++beyond_;
    return;
  }
  change.moved = change.moved || !is_borrowed(last);
  beyond_ += !is_borrowed(last);
  change.names.push_back(std::exchange(names_[last], std::string(name)));
  change.ids.push_back(last);
}

void ResourceNames::release(std::string_view name, Change& change) {
  const auto held = held_.find(name);
  if (held == held_.end() || --held->second > 0) {
    return;
  }
  held_.erase(held);
  change.names.emplace_back(name);
  const ResourceId id = find(name);
  if (id == kNoResource) {
    HEADROOM_ASSERT(beyond_ != 0);
    --beyond_;
    return;
  }
  change.ids.push_back(id);
  names_[id].clear();
  const auto waits = std::find_if(held_.begin(), held_.end(), [this](const auto& other) {
    return find(other.first) == kNoResource;
  });
  if (beyond_ != 0 && waits != held_.end()) {
    --beyond_;
    change.moved = true;
    names_[id] = waits->first;
    change.names.push_back(waits->first);
  }
}

ResourceId ResourceNames::borrow(std::string_view name) {
  const ResourceId known = find(name);
  return known != kNoResource || name.empty() ? known : take(name);
}

void ResourceNames::keep_borrowed(std::uint64_t used) {
  for (ResourceId id = 0; id < size(); ++id) {
    if (is_borrowed(id) && (used >> id & 1) == 0) {
      names_[id].clear();
    }
  }
}

bool ResourceNames::before(std::string_view a, std::string_view b) {
  const auto rank = [](std::string_view name) {
    return name == "cpu" ? 0 : name == "memory" ? 1 : name == "ephemeral-storage" ? 2 : 3;
  };
  return rank(a) != rank(b) ? rank(a) < rank(b) : a < b;
}

std::vector<ResourceId> ResourceNames::order() const {
  std::vector<ResourceId> ids;
  for (ResourceId id = 0; id < size(); ++id) {
    if (!is_free(id)) {
      ids.push_back(id);
    }
  }
  std::sort(ids.begin(), ids.end(), [&](ResourceId a, ResourceId b) { return before(a, b); });
  return ids;
}

std::int64_t amount(ResourceId resource, const Quantity& quantity) {
  const auto rounded = resource == kCpu ? quantity.milli_value() : quantity.value();
  return rounded ? *rounded : (quantity.nanos() < 0 ? INT64_MIN : INT64_MAX);
}

std::int64_t amount_of(const Amounts& amounts, ResourceId resource) {
  for (const auto& [id, value] : amounts) {
    if (id == resource) {
      return value;
    }
  }
  return 0;
}

}  // namespace headroom
