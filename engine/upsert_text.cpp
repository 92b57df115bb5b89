// upsert_text: a second thread reads while this one takes what has been read.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/upsert_objects.h"
#include "objects/hash.h"
#include "objects/reading/object_reader.h"

namespace headroom {

namespace {

// Shorter texts are not worth a thread.
constexpr std::size_t kTextBytesMin = std::size_t{1} << 20;

// Parts on their way from the thread that reads to the one that takes, and back again, to be filled
// once more: their memory is warm, and is freed by the thread that allocated it.
class Parts {
 public:
  // Of the reader: exchanges the part for an empty one, when there is room for it. False: it is not
  // wanted.
  bool put(ObjectFile& part) {
    ObjectFile used;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || read_.size() < kPartsMax; });
      if (stopped_) {
        return false;
      }
      read_.push_back(std::move(part));
      if (!used_.empty()) {
        used = std::move(used_.back());
        used_.pop_back();
      }
    }
    changed_.notify_all();
    each_list(used, [](auto& list) { list.clear(); });
    part = std::move(used);
    part.other_kinds.clear();
    part.near_fields.clear();
    return true;
  }
  // Nothing more comes; whether that is all there is.
  void end(bool whole) {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      whole_ = whole;
    }
    changed_.notify_all();
  }

  // Of the taker: exchanges the part, which it has used, for the next one. False: there is none.
  bool take(ObjectFile& part) {
    {
      std::unique_lock lock(mutex_);
      used_.push_back(std::move(part));
      changed_.wait(lock, [&] { return ended_ || !read_.empty(); });
      if (read_.empty()) {
        return false;
      }
      part = std::move(read_.front());
      read_.pop_front();
    }
    changed_.notify_all();
    return true;
  }
  bool whole() {
    const std::lock_guard lock(mutex_);
    return whole_;
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kPartsMax = 8;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ObjectFile> read_;
  std::vector<ObjectFile> used_;
  bool ended_ = false, whole_ = false, stopped_ = false;
};

// Reads into the parts until it is destroyed.
class Reader {
 public:
  Reader(std::string_view text, std::string_view source, Parts& parts)
      : parts_(parts), thread_([text, source, &parts] {
          bool whole = false;
          try {
            whole = read_objects(text, source, [&](ObjectFile& part) {
                      return parts.put(part);
                    }).has_value();
          } catch (const std::exception&) {  // no memory: whoever reads again says so
          }
          parts.end(whole);
        }) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    parts_.stop();
    thread_.join();
  }

 private:
  Parts& parts_;
  std::thread thread_;
};

// Takes objects as they come, in the order of the text, into an engine without nodes. Which row a
// name gets must not depend on that: nodes get theirs in their own order; what names a node that is
// not there waits until all have come, and what comes later under the same name with it.
class Taker {
 public:
  explicit Taker(Engine& engine) : engine_(engine) {}

  Result<void> take(ObjectFile& part) {
    each_engine_list(part, [this](auto& list) {
      count_ += list.size();
      for (auto& object : list) {
        if (done_ && !waits(object)) {
          done_ = engine_.upsert(object);
        }
      }
    });
    return done_;
  }
  // Returns how many came in all.
  Result<std::size_t> take_waiting() {
    each_engine_list(waiting_, [this](auto& list) {
      for (std::size_t i = 0; done_ && i < list.size(); ++i) {
        done_ = engine_.upsert(list[i]);
      }
    });
    if (!done_) {
      return tl::unexpected(done_.error());
    }
    return count_;
  }

 private:
  using Names = std::unordered_set<std::string, BytesHash, std::equal_to<>>;

  bool is_there(const std::string& node) const {
    return node.empty() || engine_.find_node(node) != kNoNode;
  }
  template <typename Object>
  bool wait(Object& object, const std::string& name, bool there, Names& names,
            std::vector<Object>& list) {
    if (there && (names.empty() || !names.contains(name))) {
      return false;
    }
    names.insert(name);
    list.push_back(std::move(object));
    return true;
  }
  template <typename Object>
  bool waits(Object&) {
    return false;
  }
  bool waits(NodeMetric& metric) {
    return wait(metric, metric.name, is_there(metric.name), metrics_, waiting_.node_metrics);
  }
  bool waits(Pod& pod) {
    const bool there = is_there(pod.node_name) && is_there(pod.nominated_node_name);
    return (!there || !pods_.empty()) &&
           wait(pod, pod_key(pod.namespace_name, pod.name), there, pods_, waiting_.pods);
  }

  Engine& engine_;
  Result<void> done_;
  std::size_t count_ = 0;
  Names metrics_, pods_;
  ObjectLists waiting_;
};

// nullopt where that does not go: something is wrong with the text or an object, or there is no
// thread to be had. Nothing has changed then.
std::optional<std::size_t> read_and_take(Engine& engine, std::string_view text,
                                         std::string_view source) {
  Parts parts;
  std::optional<Reader> reader;
  try {
    reader.emplace(text, source, parts);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  const auto count = all_or_none_in_bulk(engine, [&]() -> Result<std::size_t> {
    Taker taker(engine);
    ObjectFile part;
    while (parts.take(part)) {
      if (auto taken = taker.take(part); !taken) {
        return tl::unexpected(taken.error());
      }
    }
    if (!parts.whole()) {
      return fail(ErrorCode::kInvalid, "not all of the text could be read");
    }
    return taker.take_waiting();
  });
  return count ? std::optional(*count) : std::nullopt;
}

}  // namespace

Result<std::size_t> upsert_text(Engine& engine, std::string_view text, std::string_view source) {
  if (text.size() >= kTextBytesMin && engine.row_count() == 0) {
    if (const auto count = read_and_take(engine, text, source)) {
      return *count;
    }
    // One after the other says what is wrong.
  }
  const Result<ObjectFile> objects = read_objects(text, source);
  return objects ? upsert_all(engine, *objects) : tl::unexpected(objects.error());
}

}  // namespace headroom
