// The engine's answers as the plain structs of headroom.h, and what their pointers point to.
//
// Each answer is valid until the next of its kind. Thread safety: one thread at a time. Cost:
// linear in the answer; memory is used again.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "c/headroom.h"
#include "engine/engine.h"

namespace headroom {

class EngineAnswers {
 public:
  // Room for the decision that decided() tells of.
  Decision& decision() { return decision_; }
  headroom_decision decided();
  // `placements` has room for one answer each.
  void placed(std::vector<Placement> from, headroom_placement* placements);
  headroom_texts texts(std::vector<std::string> texts);
  headroom_preemption preempted(PostFilter found);
  std::span<const headroom_elastic_quota_amount> elastic_quota_status(
      std::vector<ElasticQuotaStatus> quotas);
  headroom_explanation explained(Explanation explanation);

 private:
  Decision decision_;
  std::vector<headroom_candidate> candidates_;
  std::vector<headroom_plugin_score> scores_;
  std::string message_;

  std::deque<std::string> messages_;               // of pods that were not placed
  std::deque<std::vector<Victim>> victims_;        // of pods that wait for room
  std::deque<std::vector<headroom_victim>> gone_;  // the same

  std::vector<std::string> texts_;
  std::vector<const char*> items_;

  std::vector<ElasticQuotaStatus> quotas_;
  std::vector<headroom_elastic_quota_amount> amounts_;

  Explanation explanation_;
  std::vector<headroom_term> terms_;
};

}  // namespace headroom
