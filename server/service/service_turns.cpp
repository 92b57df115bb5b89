// RequestService: requests in turns; see work.h.
#include <algorithm>
#include <functional>
#include <utility>

#include "objects/assert.h"
#include "server/service/service.h"

namespace headroom {

namespace {

// A question about one pod.
class PodQuestion final : public Work {
 public:
  using Turn = std::function<Result<bool>(const Pause&)>;
  explicit PodQuestion(Turn turn) : turn_(std::move(turn)) {}
  Result<bool> turn(const Pause& pause) override { return turn_(pause); }

 private:
  Turn turn_;
};

}  // namespace

void RequestService::begin_turn(std::chrono::microseconds time) {
  turn_ends_ = steady_now() + time;
}

Result<void> RequestService::begin(std::unique_ptr<Work> work) {
  if (work->turn_time() != kWorkTurnTime) begin_turn(work->turn_time());
  const Result<bool> done = work->turn(pause_);
  if (!done) return tl::unexpected(done.error());
  if (!*done) begun_ = std::move(work);
  return {};
}

Result<void> RequestService::ask(const Peer& peer, const wire::PodRef& ref, PodAnswer answer) {
  const Result<const Pod*> pod = resolve(ref, pod_);
  if (!pod) return tl::unexpected(pod.error());
  const Result<bool> prepared = engine_of(peer).prepare(**pod, pause_);
  if (!prepared) return tl::unexpected(prepared.error());
  if (*prepared) return answer(**pod);
  ask_later(peer, ref, std::move(answer));
  return {};
}

void RequestService::ask_later(const Peer& peer, const wire::PodRef& ref, PodAnswer answer) {
  begun_ = question(peer, ref,
                    [answer = std::move(answer)](const Pod& asked, const Pause&) -> Result<bool> {
                      if (auto answered = answer(asked); !answered)
                        return tl::unexpected(answered.error());
                      return true;
                    });
}

Result<void> RequestService::ask_in_turns(const Peer& peer, const wire::PodRef& ref, PodTurn turn) {
  if (const Result<const Pod*> pod = resolve(ref, pod_); !pod) return tl::unexpected(pod.error());
  return begin(question(peer, ref, std::move(turn)));
}

std::unique_ptr<Work> RequestService::question(const Peer& peer, const wire::PodRef& ref,
                                               PodTurn turn) {
  return std::make_unique<PodQuestion>(
      [this, &peer, &ref, pod = std::exchange(pod_, {}),
       turn = std::move(turn)](const Pause& pause) mutable -> Result<bool> {
        const Pod* asked = &pod;
        if (ref.pod() == nullptr) {
          // A fed pod may have changed or gone since the last turn.
          const Result<const Pod*> found = resolve(ref, pod);
          if (!found) return tl::unexpected(found.error());
          asked = *found;
        }
        const Result<bool> prepared = engine_of(peer).prepare(*asked, pause);
        if (!prepared || !*prepared) return prepared;
        return turn(*asked, pause);
      });
}

bool RequestService::step() {
  if (under_way_.empty()) return false;
  UnderWay now = std::move(under_way_.front());
  under_way_.pop_front();
  HEADROOM_ASSERT(now.peer != nullptr && now.work != nullptr && now.request != nullptr);
  advance();
  expire_reservations();
  begin_turn(now.work->turn_time());
  std::swap(builder_, now.builder);
  bool more = false;
  const auto turn = [&] {
    Result<bool> done = true;
    if (given_up_ && now.request->role != Role::kFeed) {
      done = fail(ErrorCode::kInternal, "the cluster was given up after a fault");
    } else if (auto decides = decides_for(*now.peer, *now.request); !decides) {
      done = tl::unexpected(decides.error());
    } else {
      done = now.work->turn(pause_);
    }
    more = done && !*done;
    if (more) return;
    now.work.reset();  // undoes what failed
    answer(*now.peer, now.id, *now.request,
           done ? Result<void>() : Result<void>(tl::unexpected(done.error())));
    metrics_.served(now.request->kind, std::chrono::steady_clock::now() - now.since);
  };
  const bool feeds = now.request->role == Role::kFeed && feeder_ == now.peer;
  contain(now.peer, now.id, feeds, std::cref(turn));
  if (more) {
    std::swap(builder_, now.builder);
    under_way_.push_back(std::move(now));
    return true;
  }
  now.work.reset();
  now.peer->resume();
  return !under_way_.empty();
}

void RequestService::drop_work(const Peer& peer) {
  const auto its = std::find_if(under_way_.begin(), under_way_.end(),
                                [&peer](const UnderWay& work) { return work.peer == &peer; });
  if (its == under_way_.end()) return;
  const std::unique_ptr<Work> work = std::move(its->work);
  under_way_.erase(its);
  work->drop();
}

}  // namespace headroom
