// ApplicationLook: what an application's plugins say of rows, for one decision: filters first, then
// scores of all that pass among each other.
//
// Source: reference default-plugins.md; kube-scheduler v1.37's PodTopologySpread, InterPodAffinity,
// NodeAffinity, TaintToleration, ImageLocality, volume plugins and NodeDeclaredFeatures. Valid
// until a fact changes. Thread safety: code() from any number of threads; score() one at a time.
// Cost: a row is O(what the application asks); score() O(rows given).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/applications/applications.h"
#include "engine/applications/row_change.h"
#include "engine/applications/volumes.h"

namespace headroom {

// Rows that are alike to the application: one of them stands for all.
struct ScoredRows {
  std::uint32_t row = 0, rows = 1;
  // It stands for its whole class, but for rows in whose domains of fine counters pods count.
  bool plain = false;
  bool is_new = true;    // what follows from its class is not worked out yet
  bool ignored = false;  // by PodTopologySpread's score
  std::uint32_t code = 0;
  std::array<std::int64_t, kApplicationScoresMax> raw{};
  std::array<std::int32_t, kApplicationScoresMax> score{};
  std::int64_t total = 0;  // of weighted scores
};

// The lowest and highest of values that come and go.
struct Extent {
  std::int64_t lowest = INT64_MAX, highest = INT64_MIN;
  std::uint32_t at_lowest = 0, at_highest = 0;  // how many have it

  void add(std::int64_t value);
  // Of one that was added.
  void remove(std::int64_t value);
  // False: one of them went, and which is next has to be looked for.
  bool known() const { return lowest > highest || (at_lowest != 0 && at_highest != 0); }
};

// What the scores of rows are relative to. Kept with the rows, those that changed can be scored
// alone while no other passes or is rejected anew.
struct ScoreScale {
  std::array<Extent, kApplicationScoresMax> raw;  // of rows that pass, by plugin
  std::array<bool, kApplicationScoresMax> skips{};
  std::size_t spread = kApplicationScoresMax;  // PodTopologySpread's place
  // By soft constraint: domains among feasible rows, and what a pod in one weighs.
  std::vector<std::uint64_t> sizes;
  std::vector<double> weights;

  // Rows that passed, before they change.
  void take_out(const ScoredRows& rows);
};

// More counters than that are looked up for each row.
inline constexpr std::size_t kLocatedCountersMax = 64;

// What rows find in counters: of each row its domain in each counter that is not fine, the sums of
// all, and bits of the counters whose key the row has.
struct LocatedRows {
  std::vector<std::vector<DomainId>> domains;  // by counter, then by row; empty of fine ones
  std::vector<std::int64_t> sums;              // by row, then by counter
  std::vector<std::uint64_t> keys;             // by row

  void clear(std::size_t counters);
  std::size_t bytes() const;
};

// Filters whose outcome is relative to more than a row's own sums.
struct FilterScale {
  std::vector<std::int64_t> least;  // by hard constraint
  bool affinity_pods = false;       // some pod matches all required affinity terms
  bool pod_affinity = false;        // InterPodAffinity filters

  friend bool operator==(const FilterScale&, const FilterScale&) = default;
};

class ApplicationLook {
 public:
  // The application is prepared.
  ApplicationLook(const Applications& applications, const Application& application);

  // Why the pod is rejected everywhere; empty: it is not.
  const std::vector<std::string>& pre_filter() const { return rejected_; }
  // Of every row then.
  std::uint32_t pre_filter_code() const;

  // False: no row is rejected by it.
  bool filters() const { return filters_; }
  const std::vector<Feed>* feeds(PodId id) const;
  // The pod, of another row than the change is of, goes (sign -1) or is back (1).
  void change_elsewhere(RowChange& change, PodId id, int sign) const;

  // Pods that are nominated to the row and that the pod must yield to: it has to pass with them,
  // and without.
  void expect(std::uint32_t row, const std::vector<PodId>& pods);
  // Calls visit(row) for the rows where pods are expected.
  template <typename Visit>
  void each_expected(Visit visit) const {
    for (const auto& its : expected_) {
      visit(its.first);
    }
  }
  // Calls visit(row) for the rows that differ from their class by more than what is counted: pods
  // are expected there, or its volumes may be too many.
  template <typename Visit>
  void each_apart(Visit visit) const {
    each_expected(visit);
    if (volumes_ != nullptr) {
      volumes_->each_apart(visit);
    }
  }
  // nullptr: the application has none.
  const VolumeLook* volumes() const { return volumes_.get(); }
  // Whether an answer for the application says the same of its next pod.
  // There are few counters then, so that rows can be located.
  bool keeps() const {
    return application_.counters.size() <= kLocatedCountersMax && expected_.empty() &&
           volumes_ == nullptr;
  }

  // 0, or why the row rejects the pod beside its columns and class. `plain`: as in ScoredRows.
  std::uint32_t code(std::uint32_t row, const RowChange* change = nullptr,
                     bool plain = false) const;
  // See Engine::bound_volumes(). Of a row that passes; the pod passes pre_filter().
  std::vector<ReferredObject> bound_volumes(std::uint32_t row) const;
  // Adds the row.
  void locate(std::uint32_t row, bool plain, LocatedRows& rows) const;
  // Whether the row is in the domains of the i-th that was located, but for fine counters.
  bool is_located(std::uint32_t row, const LocatedRows& rows, std::size_t i) const;
  // As code(), of the i-th row that was located, for an application without volumes and features.
  std::uint32_t code(const LocatedRows& rows, std::size_t i) const;

  // While it is the same, a row's code follows from what is located of it.
  FilterScale filter_scale() const;

  // Scores those whose code is 0 among each other. Rows of a class differ in their images: where
  // one stands for others `images_apart` leaves ImageLocality out, and image_score() says it of a
  // row. `located`: the same rows; nullptr: none.
  void score(std::span<ScoredRows> rows, bool images_apart, const LocatedRows* located,
             ScoreScale& scale);
  // The same where only the changed ones were taken out of the scale, and have other sums or codes.
  // True: the totals of others may have changed, too.
  bool rescore(std::span<ScoredRows> rows, const std::vector<std::uint32_t>& changed,
               const LocatedRows& located, ScoreScale& scale);
  std::int64_t image_score(std::uint32_t row) const;
  // No row has more.
  std::int64_t most_image_score() const { return most_image_score_; }
  // After either: whether plugin s of Applications::scores() gave scores.
  bool skips(std::size_t s) const { return skips_[s]; }
  // Who rejects the pod everywhere, and why.
  void explain_pre_filter(std::vector<ExplainTerm>& out) const;
  // The numbers that went in, of a row; `scored`: as score() left it, or nullptr where it is
  // rejected.
  void explain(std::uint32_t row, const ScoredRows* scored, std::vector<ExplainTerm>& out) const;
  // A plugin answered Error where nodes passed the filters.
  bool failed() const { return failed_; }

 private:
  std::uint32_t code_as_it_is(std::uint32_t row, const RowChange* change, bool plain) const;
  std::int64_t count(const Counter& counter, std::uint32_t row, bool plain,
                     const RowChange* change) const;
  std::uint32_t counted_code(std::uint32_t row, bool plain, const RowChange* change) const;
  bool has_key(const Counter& counter, std::uint32_t row) const;
  template <typename Sum, typename Key>
  std::uint32_t code_of(Sum sum, Key key, const std::int64_t* least, std::int64_t pods) const;
  std::int64_t least(const SpreadConstraint& constraint, std::uint32_t row,
                     const RowChange* change) const;
  // Of all domains, as they would be.
  std::int64_t affinity_pods(std::uint32_t row, const RowChange* change) const;
  bool declares(std::uint32_t row, const std::string& feature) const;
  // A taint that TaintToleration's score counts.
  bool minds(const Taint& taint) const;
  std::string domain_text(TopologyKeyId key, std::uint32_t row) const;
  std::string counted_pods(const Counter& counter, std::uint32_t row,
                           const RowChange* change) const;
  void explain_filters(std::uint32_t row, const RowChange* change,
                       std::vector<ExplainTerm>& out) const;
  void explain_parts(PluginId plugin, std::uint32_t row, std::vector<ExplainTerm>& out) const;
  void explain_scores(std::uint32_t row, const ScoredRows& scored,
                      std::vector<ExplainTerm>& out) const;
  std::uint32_t index_of(const Counter& counter) const {
    return static_cast<std::uint32_t>(&counter - application_.counters.data());
  }
  bool prefers() const;
  void find_skips();
  // The places of rows that changed, or of all.
  struct Picked;
  bool score_picked(std::span<ScoredRows> rows, const Picked& picked, bool images_apart,
                    const LocatedRows* located, ScoreScale& scale);
  bool is_ignored(std::uint32_t row) const;
  void measure_spread(std::span<const ScoredRows> rows, ScoreScale& scale) const;
  std::int64_t spread(const ScoredRows& its, std::size_t i, const LocatedRows* located,
                      const std::vector<double>& weights) const;
  std::int64_t affinity(const ScoredRows& its, std::size_t i, const LocatedRows* located) const;
  std::int64_t sum_of(const Counter& counter, const ScoredRows& its, std::size_t i,
                      const LocatedRows* located) const;
  std::int64_t located_sum(const LocatedRows& located, std::size_t i, std::size_t counter) const {
    return located.sums[i * application_.counters.size() + counter];
  }
  std::int64_t soft_taints(std::uint32_t row) const;
  std::int64_t preference(std::uint32_t row) const;

  const Applications& applications_;
  const Application& application_;
  std::unique_ptr<const VolumeLook> volumes_;
  std::vector<std::string> rejected_;
  PluginId rejected_by_{};
  std::vector<std::pair<std::uint32_t, RowChange>> expected_;             // by row
  std::vector<std::int64_t> least_;                                       // by hard constraint
  std::int64_t affinity_pods_ = 0;                                        // of all domains
  std::vector<std::pair<const std::string*, std::int64_t>> image_sizes_;  // that some node has
  std::int64_t most_image_score_ = 0;
  std::vector<std::uint64_t> sizes_;  // as ScoreScale's, for explain()
  std::array<bool, kApplicationScoresMax> skips_{};
  bool failed_ = false;
  bool spreads_ = false, pod_affinity_ = false, features_ = false, filters_ = false;
};

// math.Log of Go for whole numbers of at least 2, bit for bit; the C library's differs in the last
// one for some.
double go_log(double x);

}  // namespace headroom
