// RequestService: what is done where memory or the service itself fails. The barrier round every
// request, the budget of memory, and the cluster that cannot be trusted any more.
#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "schema/frame.h"
#include "server/service/memory_budget.h"
#include "server/service/service.h"

namespace headroom {

namespace {

// Shares of the budget, in percent. From the first on the shape cache is small; from the third on
// facts and new connections are refused, until memory has fallen below the second; from the last on
// nothing is reserved either.
constexpr std::uint64_t kShrinkPercent = 80;
constexpr std::uint64_t kAgainPercent = 85;
constexpr std::uint64_t kRefusePercent = 90;
constexpr std::uint64_t kReservePercent = 95;
// The cache may have its own size again below this.
constexpr std::uint64_t kGrowPercent = 70;
// Of its own size, what the shape cache has while memory is short.
constexpr std::size_t kSmallCacheDivisor = 16;
// Memory is looked at again after so many bytes were read of what may be kept, and each second.
constexpr std::size_t kKeptPerLook = 1 << 20;

}  // namespace

void RequestService::contain(Peer* peer, std::uint64_t id, bool feeds,
                             const std::function<void()>& what) noexcept {
  try {
    what();
    return;
  } catch (const std::bad_alloc&) {
    failed(peer, id, feeds,
           {ErrorCode::kLimitExceeded, "memory: there is less than the request needs"});
  } catch (const std::exception& error) {
    failed(peer, id, feeds, {ErrorCode::kInternal, error.what()});
  } catch (...) {
    failed(peer, id, feeds, {ErrorCode::kInternal, "an exception of no known kind"});
  }
}

// Nothing here may throw: what cannot even be said costs the peer its connection.
void RequestService::failed(Peer* peer, std::uint64_t id, bool feeds, const Error& error) noexcept {
  metrics_.failed(error.code);
  const auto attempt = [](const auto& what) {
    try {
      what();
      return true;
    } catch (...) {
      return false;
    }
  };
  (void)attempt([&] {
    options_.log(LogLevel::kError, "a request failed",
                 {{"client", peer == nullptr ? "" : peer->name}, {"reason", error.message}});
  });
  // Half a reply may lie in it.
  (void)attempt([&] { builder_ = flatbuffers::FlatBufferBuilder(); });
  pods_.clear();
  if (peer != nullptr && !attempt([&] { send_error(*peer, id, error); })) peer->close();
  // What was interrupted may have left something half done. Facts of this feeder are not complete.
  if (feeds && feeder_ != nullptr) {
    Peer& feeder = *feeder_;
    if (!attempt([&] { stop_feeding(wire::FeedStop::Gap, error.message); })) {
      feeder_ = nullptr;
      next_.reset();
      feeder.close();
    }
  }
  current_->drop_shape_caches();
  validate_after_fault();
}

// It takes O(nodes + pods) in one piece, and whoever knows a request that fails could ask for it
// again and again: what fails within kFaultValidationPeriod of the last is validated by a tick when
// that has passed.
void RequestService::validate_after_fault() noexcept {
  const SteadyTime now = steady_now();
  validation_due_ = validated_ && now - *validated_ < kFaultValidationPeriod;
  if (validation_due_) return;
  bool sound = false;
  try {
    sound = validate().has_value();
  } catch (...) {
    // What cannot be looked at cannot be trusted.
  }
  validated_ = steady_now();
  ++validations_;
  if (!sound) give_up();
}

// Decisions are refused until a resync has made another cluster.
void RequestService::give_up() noexcept {
  given_up_ = true;
  ready_ = false;
  Peer* const feeder = next_ == nullptr ? feeder_ : nullptr;
  try {
    options_.log(LogLevel::kError, "the cluster was given up: it is not what its facts say", {});
    if (feeder != nullptr) {
      stop_feeding(wire::FeedStop::Gap, "the server gave its cluster up: resync");
    }
  } catch (...) {
    // What it could not be told costs it its connection.
    if (feeder != nullptr) feeder->close();
    if (feeder_ == feeder) feeder_ = nullptr;
  }
}

// --- The budget --------------------------------------------------------------------------------

Result<void> RequestService::check_memory() const {
  if (refusing_ && memory_bytes_ >= options_.memory_bytes_max / 100 * kReservePercent) {
    // The plugin takes kIo for a server that is away: pods are bound without a reservation.
    return fail(ErrorCode::kIo, memory_used_up().message);
  }
  return {};
}

void RequestService::note_kept(std::size_t bytes) {
  kept_unwatched_ += bytes;
  if (kept_unwatched_ >= kKeptPerLook) {
    kept_unwatched_ = 0;
    watch_memory();
  }
}

void RequestService::watch_memory() {
  retake_memory_reserve();
  if (options_.memory_bytes_max == 0) {
    set_refusing(memory_reserve_spent());
    return;
  }
  memory_bytes_ = options_.memory_bytes();
  const auto share = [this](std::uint64_t percent) {
    return options_.memory_bytes_max / 100 * percent;
  };
  if (!small_cache_ && memory_bytes_ >= share(kShrinkPercent)) {
    small_cache_ = true;
    set_cache_size(*current_);
    tell_memory("memory is short: the shape cache shrinks");
  } else if (small_cache_ && memory_bytes_ < share(kGrowPercent)) {
    small_cache_ = false;
    set_cache_size(*current_);
  }
  set_refusing(memory_reserve_spent() ||
               memory_bytes_ >= share(refusing_ ? kAgainPercent : kRefusePercent));
}

void RequestService::set_cache_size(FedCluster& cluster) const {
  const std::size_t size = options_.engine.shape_cache_bytes_max;
  cluster.set_shape_cache_bytes_max(small_cache_ ? size / kSmallCacheDivisor : size);
}

void RequestService::set_refusing(bool refuse) {
  if (refuse == refusing_) return;
  refusing_ = refuse;
  tell_memory(refuse ? "memory is used up: facts and new connections are refused"
                     : "memory is free again: facts and connections are taken");
  if (refuse) {
    // It would need as much again.
    facts_lost_ |= next_ != nullptr;
    abort_resync();
  } else if (std::exchange(facts_lost_, false) && feeder_ != nullptr) {
    stop_feeding(wire::FeedStop::Gap, "facts were refused for want of memory: resync");
  }
}

void RequestService::tell_memory(const char* what) const {
  options_.log(LogLevel::kWarning, what,
               {{"bytes", fmt::to_string(memory_bytes_)},
                {"budget", fmt::to_string(options_.memory_bytes_max)}});
}

Error RequestService::memory_used_up() const {
  return {ErrorCode::kLimitExceeded,
          options_.memory_bytes_max == 0
              ? "memory: an allocation failed, and facts and connections are refused until there is"
                " some again"
              : fmt::format("memory: {} of {} bytes (--memory-mib) are used", memory_bytes_,
                            options_.memory_bytes_max)};
}

}  // namespace headroom
