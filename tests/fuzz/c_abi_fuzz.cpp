// Calls of the C ABI in any order, with any values that C lets a caller pass: NULL where a pointer
// is wanted, counts without a list, numbers that no enumerator has, texts of any bytes. Every call
// ends with a status of the header; a failed one has changed nothing; answers are readable; what is
// kept adds up. The input is read as a program: a byte for the call, then its arguments.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c/headroom.h"
#include "tests/fuzz/check.h"

namespace {

constexpr std::size_t kCallsMax = 64;
constexpr std::int64_t kStartUs = 1'767'225'600'000'000;

constexpr std::array<const char*, 5> kProfiles = {
    nullptr,
    "",
    "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\nmode: Upstream\n",
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{plugins: {multiPoint: {enabled: [{name: CapacityScheduling}, {name: "
    "LimitAware}]}}}]\n",
    ",",
};
constexpr std::array<const char*, 16> kWords = {nullptr,
                                                "",
                                                "n1",
                                                "n2",
                                                "p1",
                                                "p2",
                                                "d",
                                                "e",
                                                "cpu",
                                                "memory",
                                                "pods",
                                                "example.com/x",
                                                "ephemeral-storage",
                                                "q",
                                                "web",
                                                "zone"};
constexpr std::array<std::string_view, 8> kObjects = {
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"zone":"a"}},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},"capacity":{"cpu":"4"}}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p1","namespace":"d"},"spec":{"priority":5,"containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}]}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p2","namespace":"d"},"spec":{"nodeName":"n1","containers":[{"ports":[{"hostPort":80}],"resources":{"requests":{"memory":"1Gi"}}}]}})",
    R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"ElasticQuota","metadata":{"name":"q","namespace":"d"},"spec":{"min":{"cpu":"1"},"max":{"cpu":"2"}}})",
    R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n1"},"status":{"updateTime":"2026-01-01T00:00:00Z","nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}}}}})",
    R"({"apiVersion":"autoscaling.x-k8s.io/v1beta1","kind":"CapacityQuota","metadata":{"name":"q"},"spec":{"limits":{"resources":{"cpu":"8","nodes":"3"}}}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"e","namespace":"d","labels":{"app":"web"}},"spec":{"nodeName":"n1","affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,"podAffinityTerm":{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"web"}}}}]}},"containers":[{}]}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"d","labels":{"app":"web"}},"spec":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}}}],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":3,"preference":{"matchExpressions":[{"key":"zone","operator":"Exists"}]}}]},"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"web"}}}]}},"containers":[{}]}})",
};

// The program's bytes; zeros behind its end.
class Program {
 public:
  explicit Program(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool ended() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  bool rarely() { return byte() == 0xFF; }
  std::int64_t number() {
    switch (byte() % 8) {
      case 0:
        return 0;
      case 1:
        return -1;
      case 2:
        return INT64_MAX;
      case 3:
        return INT64_MIN;
      case 4:
        return std::int64_t{byte()} << (byte() % 56);
      case 5:
        return kStartUs + byte();
      default:
        return byte();
    }
  }
  std::size_t count(std::size_t most) { return byte() % (most + 1); }
  // Valid as long as the program.
  const char* text() {
    const std::uint8_t kind = byte();
    if (kind < 0xE0) return kWords[kind % kWords.size()];
    std::string& made = texts_.emplace_back();
    if (kind == 0xFF) {
      made.assign(std::size_t{byte()} * 8, 'x');
    } else {
      for (std::size_t size = kind - 0xE0; size > 0; --size) {
        made += static_cast<char>(byte());
      }
    }
    return made.c_str();
  }
  std::string_view object() {
    const std::uint8_t kind = byte();
    if (kind < 0xE0) return kObjects[kind % kObjects.size()];
    std::string& made = texts_.emplace_back();
    if (kind < 0xF0) {  // one with a byte changed
      made = kObjects[byte() % kObjects.size()];
      made[(byte() * 256u + byte()) % made.size()] = static_cast<char>(byte());
    } else {
      for (std::size_t size = byte(); size > 0 && !ended(); --size) {
        made += static_cast<char>(byte());
      }
    }
    return made;
  }
  std::vector<headroom_amount>& amounts() {
    std::vector<headroom_amount>& made = amounts_.emplace_back();
    for (std::size_t left = count(3); left > 0; --left) {
      made.push_back({text(), number()});
    }
    return made;
  }
  std::vector<headroom_pair>& pairs() {
    std::vector<headroom_pair>& made = pairs_.emplace_back();
    for (std::size_t left = count(2); left > 0; --left) made.push_back({text(), text()});
    return made;
  }
  headroom_pod pod() {
    headroom_pod made{};
    if (byte() % 4 == 0) {
      const std::string_view json = object();
      made.json = json.data();
      made.json_size = json.size();
      return made;
    }
    made.namespace_name = text();
    made.name = text();
    made.uid = byte() % 2 == 0 ? nullptr : text();
    made.node_name = byte() % 2 == 0 ? nullptr : text();
    made.priority = static_cast<std::int32_t>(number());
    list(amounts(), made.requests, made.request_count);
    list(amounts(), made.limits, made.limit_count);
    if (byte() % 4 == 0) list(pairs(), made.node_selector, made.node_selector_count);
    return made;
  }
  headroom_node node() {
    headroom_node made{};
    if (byte() % 4 == 0) {
      const std::string_view json = object();
      made.json = json.data();
      made.json_size = json.size();
      return made;
    }
    made.name = text();
    list(amounts(), made.allocatable, made.allocatable_count);
    if (byte() % 4 == 0) list(pairs(), made.labels, made.label_count);
    made.unschedulable = rarely() ? static_cast<std::int32_t>(number()) : byte() % 2;
    return made;
  }

 private:
  template <typename T>
  void list(const std::vector<T>& from, const T*& items, std::size_t& count) {
    items = rarely() ? nullptr : from.data();
    count = rarely() && items == nullptr ? SIZE_MAX : from.size();
  }

  std::span<const std::uint8_t> bytes_;
  std::deque<std::string> texts_;
  std::deque<std::vector<headroom_amount>> amounts_;
  std::deque<std::vector<headroom_pair>> pairs_;
};

// Reads every byte, so that a sanitizer looks.
volatile std::size_t seen = 0;
void look(const char* text) {
  HEADROOM_FUZZ_CHECK(text != nullptr);
  seen = seen + std::strlen(text);
}
void look(const headroom_texts& texts) {
  for (std::size_t i = 0; i < texts.count; ++i) look(texts.items[i]);
}
void look(const headroom_victim* victims, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    look(victims[i].namespace_name);
    look(victims[i].name);
    look(victims[i].uid);
  }
}

bool ok(headroom_status status, const char* error) {
  HEADROOM_FUZZ_CHECK(status >= HEADROOM_OK && status < HEADROOM_NO_MEMORY);
  look(error);
  HEADROOM_FUZZ_CHECK(status == HEADROOM_OK || *error != '\0');
  return status == HEADROOM_OK;
}

class Engine {
 public:
  explicit Engine(Program& program) : program_(program) {
    const std::uint8_t choice = program.byte();
    const char* profile = choice < 0xF0 ? kProfiles[choice % kProfiles.size()] : program.text();
    headroom_engine_options options = HEADROOM_ENGINE_OPTIONS_DEFAULT;
    if (program.rarely()) options.struct_size = static_cast<std::size_t>(program.number());
    options.seed = program.byte();
    options.cache_bytes_max = std::size_t{program.byte()} << 12;
    char message[64] = "";
    const headroom_status status = headroom_engine_create(
        profile, program.rarely() ? nullptr : &options, &engine_, message, sizeof(message));
    HEADROOM_FUZZ_CHECK((status == HEADROOM_OK) == (engine_ != nullptr));
    HEADROOM_FUZZ_CHECK(status == HEADROOM_OK || message[0] != '\0');
    if (engine_ == nullptr) headroom_engine_create(nullptr, nullptr, &engine_, nullptr, 0);
  }
  ~Engine() {
    HEADROOM_FUZZ_CHECK(headroom_validate(engine_) == HEADROOM_OK);
    while (headroom_rollback(engine_) == HEADROOM_OK) {
    }
    HEADROOM_FUZZ_CHECK(headroom_validate(engine_) == HEADROOM_OK);
    headroom_engine_destroy(engine_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void call() {
    headroom_engine* const engine = program_.rarely() ? nullptr : engine_;
    const std::uint64_t before = headroom_digest(engine);
    const std::uint8_t chosen = program_.byte() % 20;
    const headroom_status status = chosen < 8 ? change(engine, chosen) : ask(engine, chosen);
    if (engine == nullptr) {
      HEADROOM_FUZZ_CHECK(status == HEADROOM_INVALID);
      return;
    }
    if (!ok(status, headroom_engine_error(engine)) || chosen >= kFirstQuestion) {
      HEADROOM_FUZZ_CHECK(headroom_digest(engine) == before);
    }
  }

 private:
  static constexpr std::uint8_t kFirstQuestion = 12;

  headroom_status change(headroom_engine* engine, std::uint8_t chosen) {
    switch (chosen) {
      case 0: {
        const std::string_view text = program_.object();
        std::size_t applied = 0;
        const bool null = program_.rarely();
        return headroom_apply(engine, null ? nullptr : text.data(), text.size(),
                              program_.byte() % 2 == 0 ? nullptr : &applied);
      }
      case 1: {
        const headroom_node node = program_.node();
        return headroom_apply_node(engine, program_.rarely() ? nullptr : &node);
      }
      case 2: {
        const headroom_pod pod = program_.pod();
        return headroom_apply_pod(engine, program_.rarely() ? nullptr : &pod);
      }
      case 3: {
        // Of the numbers that C++ lets the type hold, two are no kinds.
        const auto kind = static_cast<headroom_kind>(program_.byte() % 8);
        return headroom_remove(engine, kind, program_.text(), program_.text());
      }
      case 4: {
        const headroom_pod pod = program_.pod();
        return headroom_assume(engine, program_.rarely() ? nullptr : &pod, program_.text());
      }
      case 5:
        return headroom_forget(engine, program_.text(), program_.text(), program_.text(),
                               program_.text());
      case 6:
        return headroom_advance(engine, program_.number());
      default: {
        std::vector<headroom_pod> pods;
        for (std::size_t left = program_.count(3); left > 0; --left) pods.push_back(program_.pod());
        std::vector<headroom_placement> placed(pods.size());
        const headroom_status status = headroom_place(
            engine, pods.data(), pods.size(),
            program_.rarely() ? static_cast<std::int32_t>(program_.number()) : program_.byte() % 2,
            program_.rarely() ? nullptr : placed.data());
        if (status != HEADROOM_OK) return status;
        for (const headroom_placement& placement : placed) {
          look(placement.message);
          look(placement.victims, placement.victim_count);
        }
        return status;
      }
    }
  }

  headroom_status ask(headroom_engine* engine, std::uint8_t chosen) {
    switch (chosen) {
      case 8:
        return headroom_fork(engine);
      case 9:
        return headroom_rollback(engine);
      case 10:
        return headroom_commit(engine);
      case 11:
        return headroom_validate(engine);
      case 12: {
        const headroom_pod pod = program_.pod();
        headroom_decision decision{};
        const auto top_k = static_cast<std::uint32_t>(program_.number());
        const headroom_status status =
            headroom_evaluate(engine, &pod, top_k, program_.rarely() ? nullptr : &decision);
        if (status == HEADROOM_OK) {
          look(decision.message);
          HEADROOM_FUZZ_CHECK(decision.candidate_count <= top_k);
          for (std::size_t c = 0; c < decision.candidate_count; ++c) {
            const headroom_candidate& candidate = decision.candidates[c];
            for (std::size_t p = 0; p < candidate.plugin_count; ++p) {
              look(candidate.plugins[p].plugin);
              HEADROOM_FUZZ_CHECK(candidate.plugins[p].score >= 0);
              HEADROOM_FUZZ_CHECK(candidate.plugins[p].score <= 100);
            }
          }
        }
        return status;
      }
      case 13: {
        const headroom_pod pod = program_.pod();
        headroom_code code{};
        headroom_texts reasons{};
        const headroom_status status =
            headroom_pre_filter(engine, &pod, program_.rarely() ? nullptr : &code,
                                program_.byte() % 2 == 0 ? nullptr : &reasons);
        if (status == HEADROOM_OK) look(reasons);
        return status;
      }
      case 14: {
        const headroom_pod pod = program_.pod();
        headroom_preemption found{};
        const headroom_status status =
            headroom_post_filter(engine, &pod, program_.rarely() ? nullptr : &found);
        if (status == HEADROOM_OK) {
          look(found.reasons);
          look(found.victims, found.victim_count);
        }
        return status;
      }
      case 15: {
        const headroom_elastic_quota_amount* amounts = nullptr;
        std::size_t count = 0;
        const headroom_status status = headroom_elastic_quota_status(
            engine, program_.rarely() ? nullptr : &amounts, program_.rarely() ? nullptr : &count);
        for (std::size_t i = 0; status == HEADROOM_OK && i < count; ++i) look(amounts[i].resource);
        return status;
      }
      case 16: {
        const headroom_pod pod = program_.pod();
        headroom_explanation explained{};
        const headroom_status status = headroom_explain(engine, &pod, program_.text(),
                                                        program_.rarely() ? nullptr : &explained);
        for (std::size_t t = 0; status == HEADROOM_OK && t < explained.term_count; ++t) {
          look(explained.terms[t].plugin);
          look(explained.terms[t].resource);
          look(explained.terms[t].formula);
          look(explained.terms[t].note);
        }
        return status;
      }
      case 17: {
        headroom_stats stats{};
        return headroom_engine_stats(engine, program_.rarely() ? nullptr : &stats);
      }
      case 18:
        look(headroom_node_name(engine, static_cast<headroom_node_index>(program_.number())));
        headroom_find_node(engine, program_.text());
        headroom_node_of_pod(engine, program_.text(), program_.text());
        headroom_now(engine);
        return headroom_validate(engine);
      default:
        // No file that could be written.
        return headroom_save(engine, program_.byte() % 2 == 0 ? nullptr : "/proc/no/such/folder");
    }
  }

  Program& program_;
  headroom_engine* engine_ = nullptr;
};

class CapacityQuotas {
 public:
  explicit CapacityQuotas(Program& program) : program_(program) {
    HEADROOM_FUZZ_CHECK(headroom_capacity_quotas_create(program.byte() % 2, &quotas_) ==
                        HEADROOM_OK);
  }
  ~CapacityQuotas() { headroom_capacity_quotas_destroy(quotas_); }
  CapacityQuotas(const CapacityQuotas&) = delete;
  CapacityQuotas& operator=(const CapacityQuotas&) = delete;

  void call() {
    headroom_capacity_quotas* const quotas = program_.rarely() ? nullptr : quotas_;
    const std::uint64_t before = headroom_capacity_quotas_digest(quotas);
    const headroom_status status = chosen(quotas);
    if (quotas == nullptr) {
      HEADROOM_FUZZ_CHECK(status == HEADROOM_INVALID);
    } else if (!ok(status, headroom_capacity_quotas_error(quotas))) {
      HEADROOM_FUZZ_CHECK(headroom_capacity_quotas_digest(quotas) == before);
    }
  }

 private:
  headroom_status chosen(headroom_capacity_quotas* quotas) {
    switch (program_.byte() % 11) {
      case 0: {
        const std::string_view text = program_.object();
        return headroom_capacity_quotas_apply(quotas, text.data(), text.size(), nullptr);
      }
      case 1: {
        const headroom_node node = program_.node();
        return headroom_capacity_quotas_apply_node(quotas, program_.rarely() ? nullptr : &node);
      }
      case 2:
        return headroom_capacity_quotas_remove_node(quotas, program_.text());
      case 3:
        return headroom_capacity_quotas_remove_quota(quotas, program_.text());
      case 4:
        return headroom_capacity_quotas_advance(quotas, program_.number());
      case 5:
      case 6: {
        const headroom_node node = program_.node();
        headroom_capacity_quota_check check{};
        const headroom_status status = headroom_capacity_quotas_check(
            quotas, &node, program_.number(), program_.rarely() ? nullptr : &check);
        for (std::size_t i = 0; status == HEADROOM_OK && i < check.limit_count; ++i) {
          look(check.limits[i].quota);
          look(check.limits[i].resource);
        }
        return status;
      }
      case 7: {
        const headroom_node node = program_.node();
        std::int64_t accepted = 0;
        const char* const id = program_.text();
        const std::int64_t count = program_.number(), expires_us = program_.number();
        return headroom_capacity_quotas_reserve(quotas, id, &node, count, expires_us,
                                                program_.byte() % 3,
                                                program_.rarely() ? nullptr : &accepted);
      }
      case 8:
        return headroom_capacity_quotas_release(quotas, program_.text());
      case 9:
        return program_.byte() % 2 == 0 ? headroom_capacity_quotas_fork(quotas)
                                        : headroom_capacity_quotas_commit(quotas);
      default:
        return headroom_capacity_quotas_rollback(quotas);
    }
  }

  Program& program_;
  headroom_capacity_quotas* quotas_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Program program({data, size});
  if (program.byte() % 4 != 0) {
    Engine engine(program);
    for (std::size_t calls = 0; calls < kCallsMax && !program.ended(); ++calls) engine.call();
  } else {
    CapacityQuotas quotas(program);
    for (std::size_t calls = 0; calls < kCallsMax && !program.ended(); ++calls) quotas.call();
  }
  return 0;
}
