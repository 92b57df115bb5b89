// WaitingPods: with an autoscaler, the pods of a simulation that found no place.
//
// Pods that no decision can tell apart wait in one line, and the last decision about one of them is
// the one about all. When they are tried again, the first of each line goes to the PodQueue: the
// next one follows when it found a place, and waits on where it found none. Whose turn it is stays
// the same as if all of them had gone there. Those that wait for others are tried again within the
// same round when another pod was placed. Thread safety: one thread at a time. Cost: a key, and
// once a shape, for a pod that finds no place; O(lines) for a try of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "objects/hash.h"
#include "simulation/pod_queue.h"

namespace headroom {

class WaitingPods {
 public:
  struct Line {
    std::map<std::uint64_t, PendingPod> pods;  // by their turn, without one that is being tried
    std::int32_t priority = 0;
    bool is_tried = false;          // one of them is in the PodQueue, or came from there
    std::uint64_t failed_in = 0;    // the round in which one of them found no place
    bool waits_for_others = false;  // pods_that_ask.h
    Decision decision;              // the last one
    bool nodes_help = false;        // for the caller, who says so of all of them
  };

  // It waits, as this was decided. Its line, which stays as long as anybody is there. Errors: what
  // Engine::shape_of() refuses.
  Result<Line*> add(Engine& engine, PendingPod&& pending, Decision&& decision, PodQueue& queue);
  // One that waited has found a place.
  void remove(const PendingPod& pending, PodQueue& queue);

  // Room may have come before a round: the first of each line goes to the queue.
  void try_again(PodQueue& queue);
  // Room may have come within it, on this pod's turn: of each line that was tried in vain, the
  // first that comes after it.
  void try_after(const PendingPod& pending, PodQueue& queue);
  // A pod was placed within it: the first of each line that waits for others.
  void try_near(PodQueue& queue);
  // The queue is empty.
  void end_round() { ++round_; }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }  // with those that are being tried
  // Between rounds, in the order of their coming.
  std::vector<std::pair<const PendingPod*, const Decision*>> all() const;

 private:
  using Turn = std::map<std::uint64_t, PendingPod>::iterator;
  static void try_one(Line& line, Turn turn, PodQueue& queue);

  std::unordered_map<std::string, Line, BytesHash, std::equal_to<>> lines_;  // PendingPod::alike
  std::size_t size_ = 0;
  std::uint64_t round_ = 1;
};

}  // namespace headroom
