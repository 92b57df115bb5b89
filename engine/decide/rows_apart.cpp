#include "engine/decide/rows_apart.h"

#include "layout/heap_bytes.h"

namespace headroom {

void RowsApart::begin(const Applications& applications, const Application& application) {
  applications_ = &applications;
  application_ = &application;
  joints_.clear();
  joints_.resize(application.fine_sums.size());
  entries_.clear();
}

FineSums::Standing RowsApart::standing(std::size_t k, std::uint32_t row) const {
  const FineSums& sums = *application_->fine_sums[k];
  const std::uint32_t domain = applications_->domain_of(sums.key(), row);
  return domain == kNoDomain ? FineSums::kNothing : sums.of(domain);
}

RowsApart::Alike RowsApart::alike(std::uint32_t row) const {
  return joined([&](std::size_t k) { return standing(k, row); },
                [this](std::size_t k, std::uint64_t both) {
                  const auto found = joints_[k].find(both);
                  return found == joints_[k].end() ? kAsItsClass : found->second;
                });
}

std::uint32_t RowsApart::entry_of(std::uint32_t row) const {
  const Alike its = alike(row);
  return its == kAsItsClass ? kNoEntry : find_entry(row, its);
}

std::uint32_t RowsApart::find_entry(std::uint32_t row, Alike its) const {
  const auto found = entries_.find(joint(applications_->table().node_class(row), its));
  return found == entries_.end() ? kNoEntry : found->second;
}

bool RowsApart::is_first(std::size_t k, std::uint32_t row) const {
  for (std::size_t before = 0; before < k; ++before) {
    if (standing(before, row) != FineSums::kNothing) {
      return false;
    }
  }
  return true;
}

std::size_t RowsApart::bytes() const {
  std::size_t bytes = allocated_bytes(joints_.capacity() * sizeof(joints_[0])) +
                      allocated_bytes(entries_.bucket_count() * 24);
  for (const auto& joint : joints_) {
    bytes += allocated_bytes(joint.bucket_count() * 24);
  }
  return bytes;
}

}  // namespace headroom
