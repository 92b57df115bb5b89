// NodesDecision as a wire table, page by page.
//
// Thread safety: a NodesEncoder is used by one thread. Cost: one copy of what is sent; no
// allocation once the builder and the scratch space have grown.
#pragma once

#include <cstdint>
#include <vector>

#include "server/answers/encode.h"

namespace headroom {

class NodesEncoder {
 public:
  // All rows of a question about single nodes.
  flatbuffers::Offset<wire::NodesEvaluated> encode(Builder& builder, const NodesDecision& decision,
                                                   const Engine& engine, std::uint64_t epoch);
  // A page of all nodes: rows from place `from` of the node table on, with totals, until
  // kNodesPerReplyMax or kFrameBytesMax ends it.
  flatbuffers::Offset<wire::NodesEvaluated> encode_page(Builder& builder,
                                                        const NodesDecision& decision,
                                                        const Engine& engine, std::uint64_t epoch,
                                                        std::uint32_t from);

 private:
  // Writes names and verdicts of rows from `first` on while they fit, or all. Returns the end.
  std::size_t write_rows(Builder& builder, const NodesDecision& decision, const Engine& engine,
                         std::size_t first, bool paged);
  flatbuffers::Offset<wire::NodesEvaluated> finish(Builder& builder, const NodesDecision& decision,
                                                   std::uint64_t epoch, std::size_t first,
                                                   std::size_t end, bool paged);

  // Scratch: its memory is used again.
  ListOffset<flatbuffers::String> pre_filter_;
  std::vector<TextOffset> names_;
  std::vector<flatbuffers::Offset<wire::NodeVerdict>> verdicts_;
  std::vector<std::uint16_t> places_;       // of the rows, in verdicts_
  std::vector<std::uint16_t> place_known_;  // by verdict of the decision: its place in verdicts_
};

}  // namespace headroom
