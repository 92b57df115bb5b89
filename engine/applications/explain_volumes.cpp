// VolumeLook::explain: of each of a pod's claims and disks, what a node has for it and what the
// volume plugins hold against it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/applications/explain_words.h"
#include "engine/applications/volumes.h"
#include "objects/text/count_text.h"

namespace headroom {

namespace {

// No claim for more can have it.
std::int64_t most_bytes(const CsiStorageCapacity& storage) {
  return storage.maximum_volume_bytes.value_or(storage.capacity_bytes.value_or(0));
}

std::string name_of(const CsiStorageCapacity& storage) {
  return storage.namespace_name + '/' + storage.name;
}

}  // namespace

ExplainTerm& VolumeLook::add_line(PluginId plugin, std::string resource,
                                  std::vector<ExplainTerm>& out) const {
  ExplainTerm& line = out.emplace_back(line_of(plugin, "Filter"));
  line.resource = std::move(resource);
  return line;
}

// The reason, as in a decision, and what is behind it.
void VolumeLook::mark_rejected(std::uint32_t code, ExplainTerm& line) const {
  const std::string reason(applications_.rejections().at(code).reasons.front());
  line.passed = false;
  line.note = line.note.empty() ? reason : reason + ": " + line.note;
}

void VolumeLook::explain(std::uint32_t row, const RowChange* change,
                         std::vector<ExplainTerm>& out) const {
  if (filters_by(PluginId::kVolumeRestrictions)) {
    explain_restrictions(row, change, out);
  }
  if (filters_by(PluginId::kNodeVolumeLimits)) {
    explain_limits(row, change, out);
  }
  if (binding_filters_) {
    explain_binding(row, out);
  }
  explain_zones(row, out);
}

// Pods that come count only where the plugin looks at nodes at all.
void VolumeLook::explain_restrictions(std::uint32_t row, const RowChange* change,
                                      std::vector<ExplainTerm>& out) const {
  const Facts& facts = applications_.facts();
  const std::vector<PodId> come =
      change != nullptr && restricts_ ? change->come : std::vector<PodId>();
  const auto add_pods = [&](ExplainTerm& line, const std::vector<PodId>& there, const auto& uses,
                            std::uint32_t reason) {
    std::vector<std::string> names;
    for (const std::vector<PodId>* pods : {&there, &come}) {
      for (const PodId id : *pods) {
        if (uses(id)) {
          const PodFacts& pod = facts.pods[id];
          names.push_back(
              pod_key(applications_.peers().kin_of(pod.peer).namespace_name, pod.name()));
        }
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());  // two volumes, one claim
    line.aggregate = line.result = static_cast<std::int64_t>(names.size());
    line.note = pods_text(std::move(names));
    if (line.result != 0) {
      mark_rejected(reason, line);
    }
  };
  for (const Volume& asked : application_.volumes) {
    if (!is_restricted(asked)) {
      continue;
    }
    ExplainTerm& line =
        add_line(PluginId::kVolumeRestrictions, asked.disk->kind + ' ' + asked.disk->id, out);
    line.formula = "pods here with the disk that do not only read it with this one";
    add_pods(
        line, applications_.row_volumes(row).pods,
        [&](PodId id) {
          const std::vector<Volume>& volumes =
              applications_.peers().at(facts.pods[id].peer).volumes;
          return std::any_of(volumes.begin(), volumes.end(),
                             [&](const Volume& used) { return conflict(asked, used); });
        },
        kDiskTaken);
  }
  for (const std::string& name : once_) {
    ExplainTerm& line = add_line(PluginId::kVolumeRestrictions, "claim " + name, out);
    line.formula = "pods on any node with a claim that is ReadWriteOncePod";
    add_pods(
        line, applications_.claim_pods(pod_key(application_.namespace_name, name)),
        [&](PodId id) {
          const std::uint32_t at = facts.pods[id].counted_row;
          return (at == kNoRow || facts.nodes[at].node != nullptr) && names_claim(id, name);
        },
        kClaimInUse);
  }
}

void VolumeLook::explain_limits(std::uint32_t row, const RowChange* change,
                                std::vector<ExplainTerm>& out) const {
  if (wanted_error_ != 0) {
    mark_rejected(wanted_error_, add_line(PluginId::kNodeVolumeLimits, "", out));
    return;
  }
  const CsiNode* csi_node = applications_.row_volumes(row).csi_node;
  const std::set<CsiVolume>& wanted = wanted_[csi_node != nullptr];
  if (counts_ && beyond_limits(row, change, false) == kForeignClaim) {
    mark_rejected(kForeignClaim, add_line(PluginId::kNodeVolumeLimits, "", out));
  }
  bool foreign = false;
  const std::set<CsiVolume> present = present_volumes(row, change, foreign);
  // By driver.
  for (auto volume = wanted.begin(); volume != wanted.end();) {
    const std::string& name = volume->driver;
    const auto of_driver = [&](const CsiVolume& its) { return its.driver == name; };
    ExplainTerm& line = add_line(PluginId::kNodeVolumeLimits, name, out);
    line.aggregate = std::count_if(present.begin(), present.end(), of_driver);
    for (; volume != wanted.end() && of_driver(*volume); ++volume) {
      line.need += present.contains(*volume) ? 0 : 1;
    }
    const CsiNode::Driver* driver = driver_of(csi_node, name);
    if (driver != nullptr && driver->count) {
      line.capacity = *driver->count;
      line.result = line.capacity - line.aggregate - line.need;
      line.formula = "volumes here + new ones of the pod <= the driver's limit";
      if (line.need != 0 && line.result < 0) {
        mark_rejected(kTooManyVolumes, line);
      }
      continue;
    }
    line.note = fmt::format("{} here; {}", count_text(line.aggregate, "volume"),
                            csi_node == nullptr ? "no limit, as the node has no CSINode"
                            : driver == nullptr ? "no limit, as its CSINode has no such driver"
                                                : "no limit in its CSINode");
    const auto missing = missing_driver_.find(name);
    if (driver == nullptr && missing != missing_driver_.end()) {
      line.note.clear();
      mark_rejected(missing->second, line);
    }
  }
}

void VolumeLook::explain_binding(std::uint32_t row, std::vector<ExplainTerm>& out) const {
  const auto add = [&](const Claim& claim) -> ExplainTerm& {
    ExplainTerm& line = add_line(PluginId::kVolumeBinding, "claim " + claim.name, out);
    line.need = claim.request_bytes.value_or(0);
    return line;
  };
  for (const BoundVolume& its : bound_) {
    explain_bound(its, row, add(*its.claim));
  }
  for (const WaitingClaim& claim : selected_) {
    ExplainTerm& line = add(*claim.its);
    if (is_selected(claim, row)) {
      explain_provision(claim, row, "waits for its volume here", line);
    } else {
      line.note = "another node is selected for it";
      mark_rejected(binding_codes_[kBindConflict], line);
    }
  }
  Chosen chosen;
  for (const WaitingClaim& claim : waiting_) {
    ExplainTerm& line = add(*claim.its);
    const PersistentVolume* volume = find_volume(claim, row, chosen);
    if (volume == nullptr) {
      explain_provision(claim, row, why_no_volume(claim, row, chosen), line);
      continue;
    }
    chosen.push_back(volume);
    const bool meant = std::any_of(claim.meant.begin(), claim.meant.end(),
                                   [&](const ItsVolume& its) { return its.volume == volume; });
    line.capacity = volume->capacity_bytes;
    line.result = line.capacity - line.need;
    line.formula = "request <= the volume's capacity";
    line.note = fmt::format(
        "waits: would be bound to PersistentVolume {}, {}", volume->name,
        meant ? "which is meant for it"
              : "the smallest of class " + claim.its->storage_class + " that serves it here");
  }
}

void VolumeLook::explain_bound(const BoundVolume& its, std::uint32_t row, ExplainTerm& line) const {
  line.note = "bound to PersistentVolume " + its.claim->volume_name;
  if (its.volume == nullptr) {
    line.note += ", which there is not";
    mark_rejected(binding_codes_[kVolumeMissing], line);
    return;
  }
  line.capacity = its.volume->capacity_bytes;
  line.formula = "the node affinity of its volume";
  line.note += ", which " + reach_text(*its.volume, node(row));
  if (!its.can_be_on(node(row))) {
    mark_rejected(binding_codes_[kNodeConflict], line);
  }
}

// "no unclaimed PersistentVolume of class fast serves it: of 3 that can be used here 2 are smaller
// than the request, 1 is for another claim of the pod". `chosen`: by its claims before this one.
std::string VolumeLook::why_no_volume(const WaitingClaim& claim, std::uint32_t row,
                                      const Chosen& chosen) const {
  for (const ItsVolume& meant : claim.meant) {
    if (!meant.can_be_on(node(row))) {
      return fmt::format("PersistentVolume {}, which is meant for it, {}", meant.volume->name,
                         reach_text(*meant.volume, node(row)));
    }
  }
  const std::string& storage_class = claim.its->storage_class;
  if (claim.of_class == nullptr || claim.of_class->unclaimed.empty()) {
    return fmt::format("no PersistentVolume of class {} is unclaimed", storage_class);
  }
  const std::int64_t bytes = claim.its->request_bytes.value_or(0);
  std::int64_t here = 0, small = 0, taken = 0;
  claim.of_class->unclaimed.first(
      applications_.topology(), row, [&](const ByLabel<PersistentVolume>::Object& object) {
        if (object.asks_for_more &&
            !applications_.volume_index().reach(*object.its).has(node(row))) {
          return false;
        }
        ++here;
        if (object.bytes_max < bytes) {
          ++small;
        } else if (std::find(chosen.begin(), chosen.end(), object.its) != chosen.end()) {
          ++taken;
        }
        return false;
      });
  const std::string volumes = "unclaimed PersistentVolume of class " + storage_class;
  if (here == 0) {
    return fmt::format("no {} can be used here", volumes);
  }
  std::vector<std::string> why;
  for (const auto& [count, what] :
       {std::pair(small, "smaller than the request"),
        {taken, "for another claim of the pod"},
        {here - small - taken, "not what it asks for, or not available"}}) {
    if (count != 0) {
      why.push_back(fmt::format("{} {} {}", count, count == 1 ? "is" : "are", what));
    }
  }
  return fmt::format("no {} serves it: of {} that can be used here {}", volumes, here,
                     list_text(why));
}

// What would be made, where nothing is there: `why` that is so.
void VolumeLook::explain_provision(const WaitingClaim& claim, std::uint32_t row,
                                   const std::string& why, ExplainTerm& line) const {
  const StorageClass* its_class = claim.storage_class;
  line.note = why + "; ";
  if (!claim.provisions) {
    line.note += fmt::format("class {} provisions none", claim.its->storage_class);
    mark_rejected(binding_codes_[kBindConflict], line);
    return;
  }
  if (!allows(*its_class, node(row))) {
    line.note += fmt::format("class {} provisions only where {}", its_class->name,
                             terms_text(its_class->allowed_topologies));
    mark_rejected(binding_codes_[kBindConflict], line);
    return;
  }
  line.note +=
      fmt::format("{} would provision one of class {}", its_class->provisioner, its_class->name);
  if (!claim.tells_capacity) {
    return;
  }
  const Storage* enough = find_storage(claim, row);
  const CsiStorageCapacity* most = enough == nullptr ? nullptr : enough->its;
  if (enough == nullptr && claim.of_class != nullptr) {
    claim.of_class->storage.first(applications_.topology(), row, [&](const Storage& storage) {
      const bool reaches =
          !storage.asks_for_more || matches(*storage.its->node_topology, node(row).labels);
      if (reaches && (most == nullptr || most_bytes(*storage.its) > most_bytes(*most))) {
        most = storage.its;
      }
      return false;
    });
  }
  if (most != nullptr) {
    line.capacity = most_bytes(*most);
    line.result = line.capacity - line.need;
    line.formula = "request <= what CSIStorageCapacity tells";
  }
  line.note += most == nullptr     ? ", but no CSIStorageCapacity of it is for this node"
               : enough == nullptr ? ", but has the most in " + name_of(*most)
                                   : " from " + name_of(*most);
  if (enough == nullptr) {
    mark_rejected(binding_codes_[kNotEnoughSpace], line);
  }
}

void VolumeLook::explain_zones(std::uint32_t row, std::vector<ExplainTerm>& out) const {
  for (const ZoneLabel& zone : zones_) {
    ExplainTerm& line =
        add_line(PluginId::kVolumeZone, "PersistentVolume " + zone.volume->name, out);
    const std::string* label = zone_label(node(row), zone.key);
    line.note = fmt::format("is in {} {}; {}", zone.key,
                            list_text({zone.values.begin(), zone.values.end()}),
                            !has_zones(node(row)) ? "the node has no zone and no region"
                            : label == nullptr    ? "the node has no such label"
                                                  : "the node is in " + *label);
    if (has_zones(node(row)) && (label == nullptr || !zone.values.contains(*label))) {
      mark_rejected(kVolumeZoneMismatch, line);
    }
  }
}

void VolumeLook::explain_score(std::uint32_t row, std::vector<ExplainTerm>& out) const {
  if (!binds()) {
    return;
  }
  std::vector<std::string> points;
  for (const auto& point : profile_.volume_binding.shape) {
    points.push_back(fmt::format("{}: {}", point.utilization, point.score));
  }
  const Binding& binding = bind(row, false);
  for (const Use& use : uses_of(binding)) {
    ExplainTerm& line = out.emplace_back(line_of(PluginId::kVolumeBinding, "Score"));
    line.resource = "class " + std::string(use.storage_class);
    line.capacity = use.capacity_bytes;
    line.need = use.requested_bytes;
    line.formula = "shape(request * 100 / capacity) of the volumes or the storage";
    line.result = rate(use);
    line.note = fmt::format("utilization {} %, shape {}", utilization(use), list_text(points));
  }
}

}  // namespace headroom
