// Answers of the engine as text, so that tests compare them whole and a difference can be read.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace headroom {

inline std::string scores_text(const PluginScores& scores, std::int64_t total) {
  std::string text;
  for (const PluginScore& score : scores) {
    text += std::string(" ") + to_string(score.plugin) + " " + std::to_string(score.raw) + " -> " +
            std::to_string(score.score);
  }
  return text + " total " + std::to_string(total);
}

inline std::string rejection_text(const char* code, const std::string& plugin,
                                  const std::vector<std::string>& reasons) {
  std::string text = std::string(code) + " by " + plugin;
  for (const std::string& reason : reasons) text += ", " + reason;
  return text;
}

inline std::string decision_text(const Engine& engine, const Decision& decision) {
  std::string text = std::string(to_string(decision.code)) + " " + decision.message() + " nodes " +
                     std::to_string(decision.nodes) + " feasible " +
                     std::to_string(decision.feasible);
  for (const ReasonCount& count : decision.reasons) {
    text += "\n  " + std::string(count.reason) + ": " + std::to_string(count.nodes);
  }
  for (const NodeScore& candidate : decision.candidates) {
    text += "\n  " + std::string(engine.node_name(candidate.node)) +
            scores_text(candidate.plugins, candidate.total);
  }
  return text;
}

}  // namespace headroom
