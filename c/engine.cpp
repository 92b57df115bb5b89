// headroom_engine_*() and what is done with an engine.
#include "engine/engine.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "c/answers.h"
#include "c/handle.h"
#include "c/headroom.h"
#include "c/objects.h"
#include "engine/profile/profile_reader.h"
#include "engine/upsert_objects.h"
#include "objects/text/utf8_prefix.h"
#include "objects/writing/referred_json_writer.h"

struct headroom_engine {
  explicit headroom_engine(headroom::Engine made) : engine(std::move(made)) {}

  std::string error;
  headroom::Engine engine;
  headroom::PodRoom pods;
  headroom::EngineAnswers answers;
};

namespace headroom {

namespace {

constexpr EvaluateOptions kBestNode{.top_k = 1, .plugin_scores = false, .reasons = true};

// When HEADROOM_ABI_VERSION became 2; fields come after its last.
constexpr std::size_t kFirstOptionsSize = 32;
static_assert(sizeof(headroom_engine_options) >= kFirstOptionsSize);

Result<EngineOptions> engine_options_of(const headroom_engine_options* from) {
  const Result<headroom_engine_options> read = options_of(from, kFirstOptionsSize);
  if (!read) return tl::unexpected(read.error());
  EngineOptions options;
  options.seed = read->seed;
  if (read->cache_bytes_max != 0) options.shape_cache_bytes_max = read->cache_bytes_max;
  options.threads = std::max(std::uint32_t{1}, read->threads);
  return options;
}

void copy_text(const std::string& text, char* room, std::size_t size) {
  if (room == nullptr || size == 0) return;
  const std::size_t length = utf8_prefix(text, size - 1).size();
  std::memcpy(room, text.data(), length);
  room[length] = '\0';
}

// `make` makes an Engine of a profile and options.
template <typename Make>
headroom_status make_engine(const char* profile, const headroom_engine_options* options,
                            headroom_engine** engine, char* message, std::size_t message_size,
                            const Make& make) noexcept {
  std::string error;
  const headroom_status status = guarded(error, [&]() -> Result<void> {
    if (engine == nullptr) return fail_null("engine");
    Result<Profile> read =
        profile == nullptr ? Profile::standard() : read_profile(profile, "profile");
    if (!read) return tl::unexpected(std::move(read.error()));
    const Result<EngineOptions> checked = engine_options_of(options);
    if (!checked) return tl::unexpected(checked.error());
    Result<Engine> made = make(std::move(*read), *checked);
    if (!made) return tl::unexpected(std::move(made.error()));
    *engine = new headroom_engine(std::move(*made));
    return {};
  });
  if (status != HEADROOM_OK) copy_text(error, message, message_size);
  return status;
}

// A headroom_kind as a number.
using KindNumber = std::underlying_type_t<headroom_kind>;
// The kinds that nodes and pods refer to follow the others, in the same order as in objects.h.
static_assert(HEADROOM_CSI_STORAGE_CAPACITY - HEADROOM_NAMESPACE ==
              static_cast<int>(ReferredKind::kCsiStorageCapacity));
static_assert(HEADROOM_PERSISTENT_VOLUME - HEADROOM_NAMESPACE ==
              static_cast<int>(ReferredKind::kPersistentVolume));

Result<void> remove(Engine& engine, KindNumber kind, std::string_view namespace_name,
                    std::string_view name) {
  switch (kind) {
    case HEADROOM_NODE:
      engine.remove_node(name);
      return {};
    case HEADROOM_POD:
      engine.remove_pod(namespace_name, name);
      return {};
    case HEADROOM_NODE_METRIC:
      engine.remove_node_metric(name);
      return {};
    case HEADROOM_ELASTIC_QUOTA:
      engine.remove_elastic_quota(namespace_name, name);
      return {};
    case HEADROOM_POD_DISRUPTION_BUDGET:
      engine.remove_pod_disruption_budget(namespace_name, name);
      return {};
    case HEADROOM_PRIORITY_CLASS:
      engine.remove_priority_class(name);
      return {};
  }
  if (kind >= HEADROOM_NAMESPACE && kind <= HEADROOM_CSI_STORAGE_CAPACITY) {
    const auto referred = static_cast<ReferredKind>(kind - HEADROOM_NAMESPACE);
    engine.remove(referred, key_of(referred, namespace_name, name));
    return {};
  }
  return fail(ErrorCode::kInvalid, "kind: " + std::to_string(kind) + " is not a headroom_kind");
}

// With the pod of a call as an object of the engine.
template <typename Call>
headroom_status with_pod(headroom_engine* engine, const headroom_pod* pod,
                         const Call& call) noexcept {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    const Result<const Pod*> read = handle.pods.read(pod);
    if (!read) return tl::unexpected(read.error());
    return call(handle, **read);
  });
}

template <typename T>
Result<void> failed(Result<T>& result) {
  return tl::unexpected(std::move(result.error()));
}

}  // namespace

}  // namespace headroom

using headroom::ErrorCode;
using headroom::fail;
using headroom::fail_null;
using headroom::guarded;
using headroom::namespace_of;
using headroom::Result;
using headroom::text_of;

extern "C" {

uint32_t headroom_abi_version(void) { return HEADROOM_ABI_VERSION; }
const char* headroom_version(void) { return HEADROOM_VERSION; }

headroom_status headroom_engine_create(const char* profile, const headroom_engine_options* options,
                                       headroom_engine** engine, char* message,
                                       size_t message_size) {
  return headroom::make_engine(
      profile, options, engine, message, message_size,
      [](headroom::Profile&& read, const headroom::EngineOptions& checked) {
        return headroom::Engine::create(std::move(read), checked);
      });
}

void headroom_engine_destroy(headroom_engine* engine) { delete engine; }

const char* headroom_engine_error(const headroom_engine* engine) {
  return engine == nullptr ? "" : engine->error.c_str();
}

// --- Facts ---

headroom_status headroom_apply(headroom_engine* engine, const char* text, size_t size,
                               size_t* applied) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    if (text == nullptr && size > 0) return fail_null("text");
    auto count = headroom::upsert_text(handle.engine, {text, size}, "text");
    if (!count) return headroom::failed(count);
    if (applied != nullptr) *applied = *count;
    return {};
  });
}

headroom_status headroom_apply_node(headroom_engine* engine, const headroom_node* node) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    if (node == nullptr) return fail_null("node");
    auto read = headroom::node_of(*node);
    return read ? handle.engine.upsert(*read) : headroom::failed(read);
  });
}

headroom_status headroom_apply_pod(headroom_engine* engine, const headroom_pod* pod) {
  return headroom::with_pod(engine, pod, [](headroom_engine& handle, const headroom::Pod& read) {
    return handle.engine.upsert(read);
  });
}

headroom_status headroom_remove(headroom_engine* engine, headroom_kind kind,
                                const char* namespace_name, const char* name) {
  // A C caller may pass any number, which C++ must not look at as a headroom_kind.
  headroom::KindNumber number = 0;
  std::memcpy(&number, &kind, sizeof(number));
  return guarded(engine, [&](headroom_engine& handle) {
    return headroom::remove(handle.engine, number, namespace_of(namespace_name), text_of(name));
  });
}

headroom_status headroom_assume(headroom_engine* engine, const headroom_pod* pod,
                                const char* node_name) {
  return headroom::with_pod(engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) {
    return handle.engine.assume(read, text_of(node_name));
  });
}

headroom_status headroom_forget(headroom_engine* engine, const char* namespace_name,
                                const char* name, const char* uid, const char* node_name) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    const std::string_view space = namespace_of(namespace_name);
    const std::string its_uid =
        text_of(uid).empty() ? headroom::pod_key(space, text_of(name)) : uid;
    handle.engine.forget(space, text_of(name), its_uid, text_of(node_name));
    return {};
  });
}

headroom_status headroom_advance(headroom_engine* engine, int64_t now_us) {
  return guarded(engine, [&](headroom_engine& handle) { return handle.engine.advance(now_us); });
}

int64_t headroom_now(const headroom_engine* engine) {
  return headroom::looked(engine, std::int64_t{0},
                          [](const headroom_engine& handle) { return handle.engine.now_us(); });
}

// --- Decisions ---

headroom_status headroom_evaluate(headroom_engine* engine, const headroom_pod* pod, uint32_t top_k,
                                  headroom_decision* decision) {
  return headroom::with_pod(
      engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) -> Result<void> {
        if (decision == nullptr) return fail_null("decision");
        headroom::EvaluateOptions options;
        options.top_k = top_k;
        auto done = handle.engine.evaluate(read, options, handle.answers.decision());
        if (done) *decision = handle.answers.decided();
        return done;
      });
}

headroom_status headroom_place(headroom_engine* engine, const headroom_pod* pods, size_t count,
                               int32_t preempt, headroom_placement* placements) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    if (placements == nullptr && count > 0) return fail_null("placements");
    auto flag = headroom::flag_of(preempt, "preempt");
    if (!flag) return headroom::failed(flag);
    auto read = handle.pods.read(pods, count);
    if (!read) return headroom::failed(read);
    auto placed = handle.engine.place(*read, headroom::kBestNode, *flag);
    if (!placed) return headroom::failed(placed);
    handle.answers.placed(std::move(*placed), placements);
    return {};
  });
}

headroom_status headroom_pre_filter(headroom_engine* engine, const headroom_pod* pod,
                                    headroom_code* code, headroom_texts* reasons) {
  return headroom::with_pod(
      engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) -> Result<void> {
        if (code == nullptr) return fail_null("code");
        auto status = handle.engine.pre_filter(read);
        if (!status) return headroom::failed(status);
        const headroom_texts texts = handle.answers.texts(std::move(status->reasons));
        *code = static_cast<headroom_code>(status->code);
        if (reasons != nullptr) *reasons = texts;
        return {};
      });
}

headroom_status headroom_not_considered(headroom_engine* engine, const headroom_pod* pod,
                                        headroom_texts* what) {
  return headroom::with_pod(
      engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) -> Result<void> {
        if (what == nullptr) return fail_null("what");
        headroom::Pod asked = read;
        // A plain pod is of no other scheduler.
        if (pod->json == nullptr) asked.scheduler_name = handle.engine.profile().scheduler_name;
        std::vector<std::string> names;
        for (const headroom::NotConsidered each : handle.engine.not_considered(asked).list()) {
          names.emplace_back(to_string(each));
        }
        *what = handle.answers.texts(std::move(names));
        return {};
      });
}

headroom_status headroom_post_filter(headroom_engine* engine, const headroom_pod* pod,
                                     headroom_preemption* preemption) {
  return headroom::with_pod(
      engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) -> Result<void> {
        if (preemption == nullptr) return fail_null("preemption");
        auto found = handle.engine.post_filter(read);
        if (!found) return headroom::failed(found);
        *preemption = handle.answers.preempted(std::move(*found));
        return {};
      });
}

headroom_status headroom_elastic_quota_status(headroom_engine* engine,
                                              const headroom_elastic_quota_amount** amounts,
                                              size_t* count) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    if (amounts == nullptr) return fail_null("amounts");
    if (count == nullptr) return fail_null("count");
    const auto status = handle.answers.elastic_quota_status(handle.engine.elastic_quota_status());
    *amounts = status.data();
    *count = status.size();
    return {};
  });
}

headroom_status headroom_explain(headroom_engine* engine, const headroom_pod* pod,
                                 const char* node_name, headroom_explanation* explanation) {
  return headroom::with_pod(
      engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) -> Result<void> {
        if (explanation == nullptr) return fail_null("explanation");
        auto explained = handle.engine.explain(read, text_of(node_name));
        if (!explained) return headroom::failed(explained);
        *explanation = handle.answers.explained(std::move(*explained));
        return {};
      });
}

headroom_status headroom_bound_volumes(headroom_engine* engine, const headroom_pod* pod,
                                       const char* node_name, headroom_texts* objects) {
  return headroom::with_pod(
      engine, pod, [&](headroom_engine& handle, const headroom::Pod& read) -> Result<void> {
        if (objects == nullptr) return fail_null("objects");
        auto bound = handle.engine.bound_volumes(read, text_of(node_name));
        if (!bound) return headroom::failed(bound);
        std::vector<std::string> texts;
        for (const headroom::ReferredObject& object : *bound) {
          texts.push_back(headroom::to_json(object));
        }
        *objects = handle.answers.texts(std::move(texts));
        return {};
      });
}

// --- Trying ---

headroom_status headroom_fork(headroom_engine* engine) {
  return guarded(engine, [](headroom_engine& handle) -> Result<void> {
    handle.engine.fork();
    return {};
  });
}

headroom_status headroom_rollback(headroom_engine* engine) {
  return guarded(engine, [](headroom_engine& handle) {
    return headroom::close_fork(handle.engine.forks(), [&] { handle.engine.rollback(); });
  });
}

headroom_status headroom_commit(headroom_engine* engine) {
  return guarded(engine, [](headroom_engine& handle) {
    return headroom::close_fork(handle.engine.forks(), [&] { handle.engine.commit(); });
  });
}

// --- Keeping ---

headroom_status headroom_save(headroom_engine* engine, const char* path) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    if (path == nullptr) return fail_null("path");
    return handle.engine.save(path);
  });
}

headroom_status headroom_load(const char* profile, const headroom_engine_options* options,
                              const char* path, headroom_engine** engine, char* message,
                              size_t message_size) {
  return headroom::make_engine(
      profile, options, engine, message, message_size,
      [&](headroom::Profile&& read,
          const headroom::EngineOptions& checked) -> Result<headroom::Engine> {
        if (path == nullptr) return fail_null("path");
        return headroom::Engine::load(std::move(read), path, checked);
      });
}

// --- Looking ---

headroom_status headroom_engine_stats(headroom_engine* engine, headroom_stats* stats) {
  return guarded(engine, [&](headroom_engine& handle) -> Result<void> {
    if (stats == nullptr) return fail_null("stats");
    const headroom::EngineStats from = handle.engine.stats();
    *stats = {.nodes = from.nodes,
              .pods = from.pods,
              .shapes = from.shapes,
              .epoch = handle.engine.epoch(),
              .decisions = from.decisions,
              .cache_bytes = from.cache_bytes};
    return {};
  });
}

const char* headroom_node_name(const headroom_engine* engine, headroom_node_index node) {
  return headroom::looked(engine, "", [&](const headroom_engine& handle) {
    // A view of a whole std::string.
    const std::string_view name = handle.engine.node_name(headroom::NodeIndex{node});
    return name.empty() ? "" : name.data();
  });
}

headroom_node_index headroom_find_node(const headroom_engine* engine, const char* name) {
  return headroom::looked(engine, HEADROOM_NO_NODE, [&](const headroom_engine& handle) {
    return static_cast<headroom_node_index>(handle.engine.find_node(text_of(name)));
  });
}

headroom_node_index headroom_node_of_pod(const headroom_engine* engine, const char* namespace_name,
                                         const char* name) {
  return headroom::looked(engine, HEADROOM_NO_NODE, [&](const headroom_engine& handle) {
    return static_cast<headroom_node_index>(
        handle.engine.node_of_pod(namespace_of(namespace_name), text_of(name)));
  });
}

uint64_t headroom_digest(const headroom_engine* engine) {
  return headroom::looked(engine, std::uint64_t{0},
                          [](const headroom_engine& handle) { return handle.engine.digest(); });
}

headroom_status headroom_validate(headroom_engine* engine) {
  const headroom_status status =
      guarded(engine, [](headroom_engine& handle) { return handle.engine.validate(); });
  const bool differs = status != HEADROOM_OK && status != HEADROOM_NO_MEMORY && engine != nullptr;
  return differs ? HEADROOM_INTERNAL : status;
}

}  // extern "C"
