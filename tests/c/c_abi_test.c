/*
 * headroom.h from plain C11: every function, its errors, lifetimes, and what it leaves of threads.
 * Prints what failed. The answers themselves are compared with those of C++ in
 * c_abi_answers_test.cpp.
 *
 *   c_abi_test DIRECTORY      an existing one, for saved states
 */
/* Of the system: threads and directories. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "headroom.h"

static _Atomic int failures; /* threads count them side by side */

#define CHECK(holds)                                                    \
  do {                                                                  \
    if (!(holds)) {                                                     \
      printf("%s:%d: %s: does not hold\n", __func__, __LINE__, #holds); \
      ++failures;                                                       \
    }                                                                   \
  } while (0)

static void check_text(const char* where, int line, const char* came, const char* part) {
  if (strstr(came, part) == NULL) {
    printf("%s:%d: \"%s\" is not in \"%s\"\n", where, line, part, came);
    ++failures;
  }
}
#define CHECK_TEXT(came, part) check_text(__func__, __LINE__, came, part)

static void check_status(const char* where, int line, const char* call, const char* error,
                         headroom_status came, headroom_status expected) {
  if (came != expected) {
    printf("%s:%d: %s: %d (%s), expected %d\n", where, line, call, (int)came, error, (int)expected);
    ++failures;
  }
}
/* On an engine of the name `engine`, on quotas of the name `quotas`. */
#define OK(call) \
  check_status(__func__, __LINE__, #call, headroom_engine_error(engine), call, HEADROOM_OK)
#define CAPACITY_QUOTAS_OK(call) \
  check_status(__func__, __LINE__, #call, headroom_capacity_quotas_error(quotas), call, HEADROOM_OK)
/* The call fails with the status, says so in these words, and changes no fact. */
#define FAILS(call, status, words)                                                        \
  do {                                                                                    \
    const uint64_t digest_before = headroom_digest(engine);                               \
    check_status(__func__, __LINE__, #call, headroom_engine_error(engine), call, status); \
    CHECK_TEXT(headroom_engine_error(engine), words);                                     \
    CHECK(headroom_digest(engine) == digest_before);                                      \
  } while (0)
#define CAPACITY_QUOTAS_FAIL(call, status, words)                                                  \
  do {                                                                                             \
    const uint64_t digest_before = headroom_capacity_quotas_digest(quotas);                        \
    check_status(__func__, __LINE__, #call, headroom_capacity_quotas_error(quotas), call, status); \
    CHECK_TEXT(headroom_capacity_quotas_error(quotas), words);                                     \
    CHECK(headroom_capacity_quotas_digest(quotas) == digest_before);                               \
  } while (0)

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char* const kCapacityProfile =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n"
    "profiles:\n"
    "  - plugins:\n"
    "      multiPoint: {enabled: [{name: CapacityScheduling}, {name: LimitAware}]}\n";

static const char* const kFitProfile =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n"
    "profiles: [{plugins: {}}]\n";

static headroom_engine* make_engine(const char* profile) {
  headroom_engine* engine = NULL;
  char message[256] = "";
  const headroom_status status =
      headroom_engine_create(profile, NULL, &engine, message, sizeof(message));
  if (status != HEADROOM_OK) {
    printf("headroom_engine_create: %s\n", message);
    exit(1);
  }
  return engine;
}

static headroom_status apply_node(headroom_engine* engine, const char* name, int64_t milli_cpu) {
  const headroom_amount amounts[] = {{.resource = "cpu", .value = milli_cpu},
                                     {.resource = "memory", .value = INT64_C(64) << 30},
                                     {.resource = "pods", .value = 110}};
  const headroom_node node = {
      .name = name, .allocatable = amounts, .allocatable_count = SIZE(amounts)};
  return headroom_apply_node(engine, &node);
}

/* A pod that asks for cpu alone; valid until the next one. */
static headroom_pod* cpu_pod(const char* namespace_name, const char* name, int64_t milli_cpu) {
  static _Thread_local headroom_amount amount;
  static _Thread_local headroom_pod pod;
  amount = (headroom_amount){.resource = "cpu", .value = milli_cpu};
  pod = (headroom_pod){
      .namespace_name = namespace_name, .name = name, .requests = &amount, .request_count = 1};
  return &pod;
}

static headroom_status apply_text(headroom_engine* engine, const char* text, size_t* applied) {
  return headroom_apply(engine, text, strlen(text), applied);
}

/* ---- Engines ---- */

static void test_version(void) {
  CHECK(headroom_abi_version() == HEADROOM_ABI_VERSION);
  CHECK_TEXT(headroom_version(), ".");
}

static void test_create(void) {
  headroom_engine* engine = NULL;
  char message[512] = "untouched";
  CHECK(headroom_engine_create(NULL, NULL, NULL, message, sizeof(message)) == HEADROOM_INVALID);
  CHECK_TEXT(message, "engine: NULL");

  const char* bad =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{plugins: {score: {enabled: [{name: NoSuchPlugin}]}}}]\n";
  CHECK(headroom_engine_create(bad, NULL, &engine, message, sizeof(message)) == HEADROOM_INVALID);
  CHECK_TEXT(message, "NoSuchPlugin");
  CHECK(engine == NULL);
  CHECK(headroom_engine_create("profiles: [", NULL, &engine, NULL, 0) == HEADROOM_INVALID);
  headroom_engine_options many = HEADROOM_ENGINE_OPTIONS_DEFAULT;
  many.threads = UINT32_MAX;
  CHECK(headroom_engine_create(NULL, &many, &engine, message, sizeof(message)) ==
        HEADROOM_LIMIT_EXCEEDED);
  CHECK_TEXT(message, "threads: 4294967295");

  /* As much of the message as there is room for, and its end. */
  char small[8] = "0123456";
  CHECK(headroom_engine_create(NULL, &many, &engine, small, sizeof(small)) ==
        HEADROOM_LIMIT_EXCEEDED);
  CHECK(strcmp(small, "threads") == 0);
  CHECK(headroom_engine_create(NULL, &many, &engine, small, 1) == HEADROOM_LIMIT_EXCEEDED);
  CHECK(small[0] == '\0' && small[1] == 'h');
  CHECK(headroom_engine_create(NULL, &many, &engine, small, 0) == HEADROOM_LIMIT_EXCEEDED);
  CHECK(engine == NULL);

  headroom_engine_options options = {.seed = 7, .cache_bytes_max = (size_t)1 << 20, .threads = 2};
  CHECK(headroom_engine_create(NULL, &options, &engine, message, sizeof(message)) ==
        HEADROOM_INVALID);
  CHECK_TEXT(message, "struct_size: 0 is less than");
  options.struct_size = SIZE_MAX;
  CHECK(headroom_engine_create(NULL, &options, &engine, message, sizeof(message)) ==
        HEADROOM_UNSUPPORTED);
  CHECK_TEXT(message, "struct_size: 18446744073709551615 is of a newer headroom.h");
  CHECK(engine == NULL);

  options.struct_size = sizeof(options);
  strcpy(message, "untouched");
  const headroom_status status =
      headroom_engine_create(kCapacityProfile, &options, &engine, message, sizeof(message));
  CHECK(status == HEADROOM_OK && engine != NULL);
  CHECK(strcmp(message, "untouched") == 0);
  CHECK(strcmp(headroom_engine_error(engine), "") == 0);
  OK(apply_node(engine, "n1", 4000));
  headroom_engine_destroy(engine);
  headroom_engine_destroy(NULL);
}

/* A handle that is NULL is refused by every call. */
static void test_no_handle(void) {
  headroom_pod* pod = cpu_pod("d", "p", 100);
  const headroom_node node = {.name = "n1"};
  headroom_decision decision;
  headroom_placement placement;
  headroom_code code;
  headroom_texts texts;
  headroom_preemption preemption;
  const headroom_elastic_quota_amount* amounts;
  size_t count;
  headroom_explanation explanation;
  headroom_stats stats;
  headroom_capacity_quota_check check;
  int64_t accepted;
  const headroom_status came[] = {
      headroom_apply(NULL, "", 0, NULL),
      headroom_apply_node(NULL, &node),
      headroom_apply_pod(NULL, pod),
      headroom_remove(NULL, HEADROOM_NODE, NULL, "n1"),
      headroom_assume(NULL, pod, "n1"),
      headroom_forget(NULL, "d", "p", NULL, "n1"),
      headroom_advance(NULL, 1),
      headroom_evaluate(NULL, pod, 1, &decision),
      headroom_place(NULL, pod, 1, 0, &placement),
      headroom_pre_filter(NULL, pod, &code, &texts),
      headroom_not_considered(NULL, pod, &texts),
      headroom_post_filter(NULL, pod, &preemption),
      headroom_elastic_quota_status(NULL, &amounts, &count),
      headroom_explain(NULL, pod, "n1", &explanation),
      headroom_fork(NULL),
      headroom_rollback(NULL),
      headroom_commit(NULL),
      headroom_save(NULL, "nowhere"),
      headroom_engine_stats(NULL, &stats),
      headroom_validate(NULL),
      headroom_capacity_quotas_apply(NULL, "", 0, NULL),
      headroom_capacity_quotas_apply_node(NULL, &node),
      headroom_capacity_quotas_remove_node(NULL, "n1"),
      headroom_capacity_quotas_remove_quota(NULL, "q"),
      headroom_capacity_quotas_advance(NULL, 1),
      headroom_capacity_quotas_check(NULL, &node, 1, &check),
      headroom_capacity_quotas_reserve(NULL, "id", &node, 1, 1, 0, &accepted),
      headroom_capacity_quotas_release(NULL, "id"),
      headroom_capacity_quotas_fork(NULL),
      headroom_capacity_quotas_rollback(NULL),
      headroom_capacity_quotas_commit(NULL),
      headroom_capacity_quotas_create(0, NULL),
  };
  for (size_t i = 0; i < SIZE(came); ++i) {
    if (came[i] != HEADROOM_INVALID) {
      printf("test_no_handle: call %zu: %d\n", i, (int)came[i]);
      ++failures;
    }
  }
  CHECK(strcmp(headroom_engine_error(NULL), "") == 0);
  CHECK(strcmp(headroom_capacity_quotas_error(NULL), "") == 0);
  CHECK(strcmp(headroom_node_name(NULL, 0), "") == 0);
  CHECK(headroom_find_node(NULL, "n1") == HEADROOM_NO_NODE);
  CHECK(headroom_node_of_pod(NULL, "d", "p") == HEADROOM_NO_NODE);
  CHECK(headroom_now(NULL) == 0 && headroom_digest(NULL) == 0 &&
        headroom_capacity_quotas_digest(NULL) == 0);
}

/* ---- Facts ---- */

static void test_apply_text(void) {
  headroom_engine* engine = make_engine(kCapacityProfile);
  size_t applied = 99;
  OK(headroom_apply(engine, NULL, 0, &applied));
  CHECK(applied == 0);
  /* JSON lines, of which two are not the engine's. */
  OK(apply_text(engine,
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"},"
                "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"9\"}}}\n"
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}\n"
                "{\"apiVersion\":\"autoscaling.x-k8s.io/v1beta1\",\"kind\":\"CapacityQuota\","
                "\"metadata\":{\"name\":\"q\"}}\n",
                &applied));
  CHECK(applied == 1);
  OK(apply_text(engine,
                "apiVersion: v1\nkind: Pod\nmetadata: {name: p1, namespace: d}\n"
                "spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n"
                "---\n"
                "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
                "metadata: {name: q, namespace: d}\nspec: {min: {cpu: 1}, max: {cpu: 2}}\n"
                "---\n"
                "apiVersion: policy/v1\nkind: PodDisruptionBudget\n"
                "metadata: {name: b, namespace: d}\n"
                "---\n"
                "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
                "metadata: {name: high}\nvalue: 100\n"
                "---\n"
                "apiVersion: slo.koordinator.sh/v1alpha1\nkind: NodeMetric\n"
                "metadata: {name: n1}\n",
                &applied));
  CHECK(applied == 5);
  CHECK(headroom_node_of_pod(engine, "d", "p1") == headroom_find_node(engine, "n1"));

  FAILS(headroom_apply(engine, NULL, 5, NULL), HEADROOM_INVALID, "text: NULL");
  FAILS(apply_text(engine, "{\"apiVersion\"", NULL), HEADROOM_INVALID, "malformed JSON");
  FAILS(apply_text(engine, "{\xff}", NULL), HEADROOM_INVALID, "malformed JSON");
  FAILS(apply_text(engine, "a: [", NULL), HEADROOM_INVALID, "text");
  /* The first document is good. */
  applied = 99;
  FAILS(apply_text(engine,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n2\"}}\n"
                   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n3\"},"
                   "\"status\":{\"allocatable\":{\"cpu\":\"4x\"}}}\n",
                   &applied),
        HEADROOM_INVALID, "Node n3: status.allocatable.cpu: \"4x\"");
  CHECK(applied == 99);
  CHECK(headroom_find_node(engine, "n2") == HEADROOM_NO_NODE);

  /* Objects that the reader takes and the engine does not: the last has less than nothing. */
  char text[16384];
  size_t end = 0;
  for (int node = 0; node < 3; ++node) {
    end += (size_t)snprintf(text + end, sizeof(text) - end,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
                            "\"r%d\"},\"status\":{\"allocatable\":{",
                            node);
    end += (size_t)snprintf(text + end, sizeof(text) - end, "\"example.com/r\":\"%d\"", 1 - node);
    end += (size_t)snprintf(text + end, sizeof(text) - end, "}}}\n");
  }
  FAILS(headroom_apply(engine, text, end, NULL), HEADROOM_INVALID, "is negative");
  CHECK(headroom_find_node(engine, "r0") == HEADROOM_NO_NODE);
  OK(headroom_validate(engine));
  /* Not within a fork of the caller's either, and that fork stays. */
  OK(headroom_fork(engine));
  OK(apply_node(engine, "forked", 1000));
  FAILS(headroom_apply(engine, text, end, NULL), HEADROOM_INVALID, "is negative");
  CHECK(headroom_find_node(engine, "forked") != HEADROOM_NO_NODE);
  OK(headroom_rollback(engine));
  CHECK(headroom_find_node(engine, "forked") == HEADROOM_NO_NODE);
  headroom_engine_destroy(engine);
}

static void test_plain_structs(void) {
  headroom_engine* engine = make_engine(NULL);
  OK(apply_node(engine, "n1", 4000));

  char long_text[2000];
  memset(long_text, 'x', sizeof(long_text));
  long_text[sizeof(long_text) - 1] = '\0';
  headroom_amount amounts[] = {{.resource = "memory", .value = 1 << 20},
                               {.resource = "cpu", .value = 100}};
  headroom_amount limits[] = {{.resource = "memory", .value = 1 << 10}};
  const headroom_pair pairs[] = {{"zone", "a"}, {"pool", NULL}};
  const headroom_pair twice[] = {{"zone", "a"}, {"pool", "b"}, {"zone", "a"}};
  const headroom_pair no_key[] = {{NULL, "a"}};
  const headroom_pair long_value[] = {{"zone", long_text}};

  headroom_node node = {.name = "n2",
                        .allocatable = amounts,
                        .allocatable_count = SIZE(amounts),
                        .labels = pairs,
                        .label_count = SIZE(pairs),
                        .unschedulable = 1};
  OK(headroom_apply_node(engine, &node));
  FAILS(headroom_apply_node(engine, NULL), HEADROOM_INVALID, "node: NULL");
  node.unschedulable = 2;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "Node n2: unschedulable: 2");
  node.unschedulable = 0;
  node.name = NULL;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "name is empty");
  node.name = long_text;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_LIMIT_EXCEEDED, "name: \"xxx");
  node.name = "n2";
  node.labels = twice;
  node.label_count = SIZE(twice);
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "labels: \"zone\" is there twice");
  node.labels = no_key;
  node.label_count = 1;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "labels[0].key is empty");
  node.labels = long_value;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_LIMIT_EXCEEDED, "labels[0].value");
  node.labels = NULL;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "labels: NULL with 1");
  node.labels = pairs;
  node.label_count = SIZE_MAX;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_LIMIT_EXCEEDED, "labels: has");
  node.label_count = 0;
  node.allocatable_count = SIZE_MAX;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_LIMIT_EXCEEDED, "allocatable: has");
  node.allocatable = NULL;
  node.allocatable_count = 1;
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "allocatable: NULL with 1");
  node.json = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}";
  node.json_size = strlen(node.json);
  FAILS(headroom_apply_node(engine, &node), HEADROOM_INVALID, "json: is not a Node");
  node.json = "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n3\"}}";
  node.json_size = strlen(node.json);
  OK(headroom_apply_node(engine, &node));
  CHECK(headroom_find_node(engine, "n3") != HEADROOM_NO_NODE);

  /* A limit below the request is legal; the pod is bound where it says. */
  headroom_pod pod = {.namespace_name = "d",
                      .name = "p1",
                      .requests = amounts,
                      .request_count = SIZE(amounts),
                      .limits = limits,
                      .limit_count = SIZE(limits),
                      .node_selector = pairs,
                      .node_selector_count = SIZE(pairs),
                      .node_name = "n1",
                      .priority = -5};
  OK(headroom_apply_pod(engine, &pod));
  CHECK(headroom_node_of_pod(engine, "d", "p1") == headroom_find_node(engine, "n1"));
  FAILS(headroom_apply_pod(engine, NULL), HEADROOM_INVALID, "pod: NULL");
  pod.name = NULL;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID, "name is empty");
  pod.name = "p2";
  pod.uid = long_text;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_LIMIT_EXCEEDED, "Pod d/p2: uid: \"xxx");
  pod.uid = NULL;
  pod.node_name = long_text;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_LIMIT_EXCEEDED, "node_name");
  pod.node_name = NULL;
  pod.namespace_name = long_text;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_LIMIT_EXCEEDED, "namespace_name");
  pod.namespace_name = NULL;
  amounts[1].value = -1;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID,
        "Pod default/p2: requests[1].value: cpu -1 is below 0");
  amounts[1].value = INT64_MAX;
  limits[0].value = INT64_MIN;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID,
        "limits[0].value: memory -922337203685");
  limits[0].value = 0;
  OK(headroom_apply_pod(engine, &pod));
  amounts[1].resource = NULL;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID, "requests[1].resource is empty");
  amounts[1].resource = long_text;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_LIMIT_EXCEEDED, "requests[1].resource");
  amounts[1].resource = "memory";
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID, "requests: \"memory\" is there twice");
  pod.request_count = 1;
  pod.limit_count = SIZE_MAX;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_LIMIT_EXCEEDED, "limits: has");
  pod.limit_count = 0;
  pod.node_selector = twice;
  pod.node_selector_count = SIZE(twice);
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID, "node_selector: \"zone\"");
  pod.node_selector_count = SIZE_MAX;
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_LIMIT_EXCEEDED, "node_selector: has");
  pod.json = "";
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID, "json: expected one object");
  pod.json = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n";
  pod.json_size = strlen(pod.json);
  FAILS(headroom_apply_pod(engine, &pod), HEADROOM_INVALID, "json: byte 0: malformed JSON");
  pod.json =
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p3\"},"
      "\"spec\":{\"nodeName\":\"n3\"}}";
  pod.json_size = strlen(pod.json);
  OK(headroom_apply_pod(engine, &pod));
  CHECK(headroom_node_of_pod(engine, "default", "p3") == headroom_find_node(engine, "n3"));
  /* What came as JSON leaves nothing behind in a plain pod. */
  OK(headroom_apply_pod(engine, cpu_pod("default", "p4", 100)));
  CHECK(headroom_node_of_pod(engine, "default", "p4") == HEADROOM_NO_NODE);
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

/* The cpu limits of n1's pods by ResourceLimitAware, where one pod asks for 1000 and has these. */
static int64_t cpu_limits_with(const headroom_amount* limits, size_t limit_count) {
  headroom_engine* engine = make_engine(
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "profiles: [{plugins: {multiPoint: {enabled: [{name: ResourceLimitAware}]}}}]\n");
  OK(apply_node(engine, "n1", 4000));
  headroom_pod pod = *cpu_pod("d", "p1", 1000);
  pod.limits = limits;
  pod.limit_count = limit_count;
  OK(headroom_assume(engine, &pod, "n1"));
  headroom_explanation explanation;
  OK(headroom_explain(engine, cpu_pod("d", "p2", 100), "n1", &explanation));
  int64_t aggregate = -1;
  for (size_t i = 0; i < explanation.term_count; ++i) {
    const headroom_term* term = &explanation.terms[i];
    if (strcmp(term->plugin, "ResourceLimitAware") == 0 && strcmp(term->resource, "cpu") == 0) {
      aggregate = term->aggregate;
    }
  }
  headroom_engine_destroy(engine);
  return aggregate;
}

/* A limit of 0 and no limit are two things: without one a pod counts by its request. */
static void test_limits(void) {
  const headroom_amount none = {.resource = "cpu", .value = 0};
  const headroom_amount some = {.resource = "cpu", .value = 3000};
  CHECK(cpu_limits_with(NULL, 0) == 1000);
  CHECK(cpu_limits_with(&none, 1) == 0);
  CHECK(cpu_limits_with(&some, 1) == 3000);
}

/* One object of each kind from HEADROOM_NAMESPACE on, all of the name x. */
static void test_what_pods_refer_to(void) {
  headroom_engine* engine = make_engine(kFitProfile);
  const uint64_t empty = headroom_digest(engine);
  const char* const types[] = {
      "v1\nkind: Namespace",
      "v1\nkind: Service",
      "v1\nkind: ReplicationController",
      "apps/v1\nkind: ReplicaSet",
      "apps/v1\nkind: StatefulSet",
      "v1\nkind: PersistentVolume",
      "v1\nkind: PersistentVolumeClaim",
      "storage.k8s.io/v1\nkind: StorageClass",
      "storage.k8s.io/v1\nkind: CSINode",
      "storage.k8s.io/v1\nkind: CSIDriver",
      "storage.k8s.io/v1\nkind: CSIStorageCapacity",
  };
  CHECK(SIZE(types) == HEADROOM_CSI_STORAGE_CAPACITY - HEADROOM_NAMESPACE + 1);
  uint64_t digests[SIZE(types)];
  for (size_t i = 0; i < SIZE(types); ++i) {
    char text[200];
    size_t applied = 0;
    digests[i] = headroom_digest(engine);
    snprintf(text, sizeof(text), "apiVersion: %s\nmetadata: {name: x, namespace: d}\n", types[i]);
    OK(apply_text(engine, text, &applied));
    CHECK(applied == 1);
    CHECK(headroom_digest(engine) != digests[i]);
    OK(apply_text(engine, text, NULL));
  }
  for (size_t i = SIZE(types); i-- > 0;) {
    const headroom_kind kind = (headroom_kind)(HEADROOM_NAMESPACE + i);
    OK(headroom_remove(engine, kind, "d", "y"));
    OK(headroom_remove(engine, kind, NULL, NULL));
    OK(headroom_remove(engine, kind, "d", "x"));
    CHECK(headroom_digest(engine) == digests[i]);
  }
  CHECK(headroom_digest(engine) == empty);
  FAILS(
      apply_text(engine,
                 "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: 1}\n", NULL),
      HEADROOM_INVALID, "Service default/s: spec.selector: 1 is not an object");
  headroom_engine_destroy(engine);
}

static void test_facts(void) {
  headroom_engine* engine = make_engine(NULL);
  OK(apply_node(engine, "n1", 4000));
  OK(apply_text(engine,
                "apiVersion: slo.koordinator.sh/v1alpha1\nkind: NodeMetric\n"
                "metadata: {name: n1}\n"
                "---\n"
                "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
                "metadata: {name: q, namespace: d}\nspec: {min: {cpu: 1}, max: {cpu: 2}}\n"
                "---\n"
                "apiVersion: policy/v1\nkind: PodDisruptionBudget\n"
                "metadata: {name: b, namespace: d}\n"
                "---\n"
                "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
                "metadata: {name: high}\nvalue: 100\n",
                NULL));
  const uint64_t without_pod = headroom_digest(engine);
  OK(headroom_assume(engine, cpu_pod("d", "p1", 1000), "n1"));
  CHECK(headroom_node_of_pod(engine, "d", "p1") == headroom_find_node(engine, "n1"));
  FAILS(headroom_assume(engine, cpu_pod("d", "p2", 1000), NULL), HEADROOM_INVALID, "name is empty");
  FAILS(headroom_assume(engine, NULL, "n1"), HEADROOM_INVALID, "pod: NULL");
  /* Another uid and another node are other reservations. */
  OK(headroom_forget(engine, "d", "p1", "another", "n1"));
  OK(headroom_forget(engine, "d", "p1", NULL, "n2"));
  CHECK(headroom_node_of_pod(engine, "d", "p1") != HEADROOM_NO_NODE);
  OK(headroom_forget(engine, "d", "p1", NULL, "n1"));
  CHECK(headroom_node_of_pod(engine, "d", "p1") == HEADROOM_NO_NODE);
  OK(headroom_remove(engine, HEADROOM_POD, "d", "p1"));
  CHECK(headroom_digest(engine) == without_pod);
  /* Without namespace and uid a pod is the same as a struct and as JSON. */
  OK(headroom_assume(engine, cpu_pod(NULL, "p1", 1000), "n1"));
  CHECK(headroom_node_of_pod(engine, NULL, "p1") == headroom_find_node(engine, "n1"));
  CHECK(headroom_node_of_pod(engine, "default", "p1") == headroom_find_node(engine, "n1"));
  OK(headroom_forget(engine, NULL, "p1", NULL, "n1"));
  const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p1\"}}";
  headroom_pod as_json = {0};
  as_json.json = json;
  as_json.json_size = sizeof(json) - 1;
  OK(headroom_assume(engine, &as_json, "n1"));
  OK(headroom_forget(engine, NULL, "p1", NULL, "n1"));
  CHECK(headroom_digest(engine) == without_pod);

  const headroom_kind kinds[] = {HEADROOM_PRIORITY_CLASS, HEADROOM_POD_DISRUPTION_BUDGET,
                                 HEADROOM_ELASTIC_QUOTA, HEADROOM_NODE_METRIC, HEADROOM_NODE};
  const char* const names[] = {"high", "b", "q", "n1", "n1"};
  for (size_t i = 0; i < SIZE(kinds); ++i) {
    const uint64_t before = headroom_digest(engine);
    OK(headroom_remove(engine, kinds[i], "d", "no-such-name"));
    OK(headroom_remove(engine, kinds[i], NULL, NULL));
    CHECK(headroom_digest(engine) == before);
    OK(headroom_remove(engine, kinds[i], "d", names[i]));
    CHECK(headroom_digest(engine) != before);
  }
  headroom_engine* empty = make_engine(NULL);
  CHECK(headroom_digest(engine) == headroom_digest(empty));
  headroom_engine_destroy(empty);
  FAILS(headroom_remove(engine, (headroom_kind)17, "d", "p"), HEADROOM_INVALID, "kind: 17");
  FAILS(headroom_remove(engine, (headroom_kind)4242, "d", "p"), HEADROOM_INVALID, "kind: 4242");

  OK(headroom_advance(engine, 1000));
  OK(headroom_advance(engine, 1000));
  CHECK(headroom_now(engine) == 1000);
  FAILS(headroom_advance(engine, 999), HEADROOM_INVALID, "999");
  CHECK(headroom_now(engine) == 1000);
  headroom_engine_destroy(engine);
}

/* ---- Decisions ---- */

static void test_evaluate(void) {
  headroom_engine* engine = make_engine(kFitProfile);
  OK(apply_node(engine, "n1", 4000));
  OK(apply_node(engine, "n2", 8000));
  headroom_decision decision;
  OK(headroom_evaluate(engine, cpu_pod("d", "p1", 1000), 5, &decision));
  CHECK(decision.code == HEADROOM_SUCCESS && decision.nodes == 2 && decision.feasible == 2);
  CHECK(decision.candidate_count == 2 && strcmp(decision.message, "") == 0);
  CHECK(strcmp(headroom_node_name(engine, decision.candidates[0].node), "n2") == 0);
  CHECK(decision.candidates[0].total > decision.candidates[1].total);
  CHECK(decision.candidates[0].plugin_count > 0);
  int by_fit = 0;
  for (size_t i = 0; i < decision.candidates[0].plugin_count; ++i) {
    by_fit += strcmp(decision.candidates[0].plugins[i].plugin, "NodeResourcesFit") == 0;
  }
  CHECK(by_fit == 1);

  /* Looking leaves an answer as it is, and so does a call that fails. */
  const headroom_decision before = decision;
  CHECK(headroom_find_node(engine, "n1") == decision.candidates[1].node);
  (void)headroom_digest(engine);
  (void)headroom_now(engine);
  FAILS(headroom_evaluate(engine, cpu_pod("d", "p1", 1000), 0, &decision), HEADROOM_INVALID,
        "top_k");
  FAILS(headroom_evaluate(engine, cpu_pod("d", "p1", 1000), 1025, &decision), HEADROOM_INVALID,
        "top_k");
  FAILS(headroom_evaluate(engine, cpu_pod("d", "p1", 1000), 1, NULL), HEADROOM_INVALID,
        "decision: NULL");
  FAILS(headroom_evaluate(engine, NULL, 1, &decision), HEADROOM_INVALID, "pod: NULL");
  CHECK(memcmp(&decision, &before, sizeof(before)) == 0);

  OK(headroom_evaluate(engine, cpu_pod("d", "p1", 9000), 5, &decision));
  CHECK(decision.code == HEADROOM_UNSCHEDULABLE && decision.feasible == 0);
  CHECK(decision.candidate_count == 0);
  CHECK(strcmp(decision.message, "0/2 nodes are available: 2 Insufficient cpu.") == 0);
  headroom_engine_destroy(engine);
}

static void test_place(void) {
  headroom_engine* engine = make_engine(kFitProfile);
  OK(apply_node(engine, "n1", 2000));
  OK(apply_node(engine, "n2", 2000));
  const headroom_amount amount = {.resource = "cpu", .value = 1500};
  headroom_pod pods[3] = {{.name = "p1"}, {.name = "p2"}, {.name = "p3"}};
  for (size_t i = 0; i < SIZE(pods); ++i) {
    pods[i].requests = &amount;
    pods[i].request_count = 1;
  }
  headroom_placement placed[3];
  OK(headroom_place(engine, NULL, 0, 0, NULL));
  FAILS(headroom_place(engine, NULL, 3, 0, placed), HEADROOM_INVALID, "pods: NULL with 3");
  FAILS(headroom_place(engine, pods, 3, 0, NULL), HEADROOM_INVALID, "placements: NULL");
  FAILS(headroom_place(engine, pods, 3, 2, placed), HEADROOM_INVALID, "preempt: 2");
  FAILS(headroom_place(engine, pods, 3, 1, placed), HEADROOM_UNSUPPORTED, "CapacityScheduling");
  FAILS(headroom_place(engine, pods, SIZE_MAX, 0, placed), HEADROOM_LIMIT_EXCEEDED, "pods: has");
  pods[2].name = NULL;
  FAILS(headroom_place(engine, pods, 3, 0, placed), HEADROOM_INVALID, "name is empty");
  pods[2].name = "p3";
  pods[2].request_count = 2000;
  FAILS(headroom_place(engine, pods, 3, 0, placed), HEADROOM_LIMIT_EXCEEDED,
        "pods[2]: Pod default/p3");
  CHECK(headroom_node_of_pod(engine, NULL, "p1") == HEADROOM_NO_NODE);

  pods[2].request_count = 1;
  OK(headroom_place(engine, pods, 3, 0, placed));
  CHECK(placed[0].node == headroom_find_node(engine, "n1"));
  CHECK(placed[1].node == headroom_find_node(engine, "n2"));
  CHECK(placed[2].node == HEADROOM_NO_NODE && placed[2].nominated_node == HEADROOM_NO_NODE);
  CHECK(placed[0].total > 0 && strcmp(placed[0].message, "") == 0);
  CHECK_TEXT(placed[2].message, "0/2 nodes are available: 2 Insufficient cpu");
  CHECK(headroom_node_of_pod(engine, NULL, "p2") == placed[1].node);
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

/* Team b borrows what team a may have back. */
static headroom_engine* lent_cluster(void) {
  headroom_engine* engine = make_engine(kCapacityProfile);
  OK(apply_node(engine, "n1", 4000));
  OK(apply_text(engine,
                "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
                "metadata: {name: qa, namespace: a}\nspec: {min: {cpu: 4}, max: {cpu: 4}}\n"
                "---\n"
                "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
                "metadata: {name: qb, namespace: b}\nspec: {min: {cpu: 1}, max: {cpu: 4}}\n",
                NULL));
  const char* const names[] = {"b1", "b2", "b3", "b4"};
  for (size_t i = 0; i < SIZE(names); ++i) {
    headroom_pod* pod = cpu_pod("b", names[i], 1000);
    pod->node_name = "n1";
    pod->priority = 10;
    OK(headroom_apply_pod(engine, pod));
  }
  return engine;
}

static void test_elastic_quotas_of_teams(void) {
  headroom_engine* engine = lent_cluster();
  const headroom_elastic_quota_amount* amounts = NULL;
  size_t count = 0;
  OK(headroom_elastic_quota_status(engine, &amounts, &count));
  CHECK(count == 2);
  CHECK(strcmp(amounts[0].namespace_name, "a") == 0 && strcmp(amounts[0].name, "qa") == 0);
  CHECK(amounts[0].min == 4000 && amounts[0].max == 4000 && amounts[0].used == 0);
  CHECK(strcmp(amounts[1].resource, "cpu") == 0 && amounts[1].used == 4000 && amounts[1].over_min);
  CHECK(!amounts[0].over_min);
  FAILS(headroom_elastic_quota_status(engine, NULL, &count), HEADROOM_INVALID, "amounts: NULL");
  FAILS(headroom_elastic_quota_status(engine, &amounts, NULL), HEADROOM_INVALID, "count: NULL");

  headroom_code code = HEADROOM_ERROR;
  headroom_texts reasons = {0};
  OK(headroom_pre_filter(engine, cpu_pod("a", "a1", 1000), &code, &reasons));
  CHECK(code == HEADROOM_SUCCESS && reasons.count == 0);
  OK(headroom_pre_filter(engine, cpu_pod("a", "a1", 5000), &code, &reasons));
  CHECK(code == HEADROOM_UNSCHEDULABLE && reasons.count > 0);
  CHECK_TEXT(reasons.items[0], "ElasticQuota a/qa: cpu");
  OK(headroom_pre_filter(engine, cpu_pod("a", "a1", 5000), &code, NULL));
  FAILS(headroom_pre_filter(engine, cpu_pod("a", "a1", 1000), NULL, &reasons), HEADROOM_INVALID,
        "code: NULL");

  OK(headroom_not_considered(engine, cpu_pod("a", "a1", 1000), &reasons));
  CHECK(reasons.count == 0);
  headroom_pod asking = {
      .json =
          "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},"
          "\"spec\":{\"schedulingGates\":[{}],\"schedulerName\":\"other\"}}"};
  asking.json_size = strlen(asking.json);
  OK(headroom_not_considered(engine, &asking, &reasons));
  /* Gates are looked at. */
  CHECK(reasons.count == 1);
  CHECK_TEXT(reasons.items[0], "another scheduler's name");
  FAILS(headroom_not_considered(engine, &asking, NULL), HEADROOM_INVALID, "what: NULL");

  const uint64_t digest = headroom_digest(engine);
  headroom_preemption preemption;
  OK(headroom_post_filter(engine, cpu_pod("a", "a1", 2000), &preemption));
  CHECK(preemption.code == HEADROOM_SUCCESS && preemption.reasons.count == 0);
  CHECK(preemption.nominated_node == headroom_find_node(engine, "n1"));
  CHECK(preemption.victim_count == 2 && preemption.pdb_violations == 0 && !preemption.cross_node);
  CHECK(strcmp(preemption.victims[0].namespace_name, "b") == 0);
  CHECK(preemption.victims[0].name[0] == 'b' && preemption.victims[0].priority == 10);
  CHECK_TEXT(preemption.victims[0].uid, "b/b");
  CHECK(preemption.victims[1].node == preemption.nominated_node);
  CHECK(headroom_digest(engine) == digest);
  FAILS(headroom_post_filter(engine, cpu_pod("a", "a1", 2000), NULL), HEADROOM_INVALID,
        "preemption: NULL");
  OK(headroom_post_filter(engine, cpu_pod("b", "b5", 2000), &preemption));
  CHECK(preemption.code == HEADROOM_UNSCHEDULABLE && preemption.reasons.count > 0);
  CHECK(preemption.nominated_node == HEADROOM_NO_NODE && preemption.victim_count == 0);

  headroom_placement placed;
  OK(headroom_place(engine, cpu_pod("a", "a1", 2000), 1, 1, &placed));
  CHECK(placed.node == HEADROOM_NO_NODE && placed.victim_count == 2);
  CHECK(placed.nominated_node == headroom_find_node(engine, "n1"));
  CHECK_TEXT(placed.victims[1].uid, "b/b");
  OK(headroom_elastic_quota_status(engine, &amounts, &count));
  CHECK(amounts[0].nominated == 2000);
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

/* A metric before its node, by a call that takes back what it did where something is wrong. */
static void test_metric_first(void) {
  headroom_engine* engine = make_engine(NULL);
  OK(apply_text(engine,
                "apiVersion: slo.koordinator.sh/v1alpha1\nkind: NodeMetric\nmetadata: {name: n1}\n"
                "status: {nodeMetric: {nodeUsage: {resources: {cpu: 1}}}}\n",
                NULL));
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

/* A pod may be in no namespace, whose name is that of namespaces that are gone. */
static void test_no_namespace(void) {
  headroom_engine* engine = make_engine(kCapacityProfile);
  OK(headroom_apply_pod(engine, cpu_pod(NULL, "p1", 100)));
  OK(headroom_apply_pod(engine, cpu_pod("d", "p2", 100)));
  OK(headroom_remove(engine, HEADROOM_POD, "d", "p2"));
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

static void test_explain(void) {
  headroom_engine* engine = make_engine(NULL);
  OK(apply_node(engine, "n1", 2000));
  headroom_explanation explanation;
  OK(headroom_explain(engine, cpu_pod("d", "p1", 1000), "n1", &explanation));
  CHECK(explanation.code == HEADROOM_SUCCESS && explanation.total > 0);
  size_t of_cpu = 0;
  for (size_t i = 0; i < explanation.term_count; ++i) {
    const headroom_term* term = &explanation.terms[i];
    CHECK(strlen(term->plugin) > 0 && strlen(term->extension_point) > 0 && term->note != NULL);
    if (strcmp(term->resource, "cpu") == 0 && term->need == 1000 && term->capacity == 2000) {
      ++of_cpu;
    }
  }
  CHECK(of_cpu > 0);
  OK(headroom_explain(engine, cpu_pod("d", "p1", 3000), "n1", &explanation));
  CHECK(explanation.code == HEADROOM_UNSCHEDULABLE_AND_UNRESOLVABLE);
  FAILS(headroom_explain(engine, cpu_pod("d", "p1", 1000), "n2", &explanation), HEADROOM_NOT_FOUND,
        "node n2 is not known");
  FAILS(headroom_explain(engine, cpu_pod("d", "p1", 1000), NULL, &explanation), HEADROOM_NOT_FOUND,
        "not known");
  FAILS(headroom_explain(engine, cpu_pod("d", "p1", 1000), "n1", NULL), HEADROOM_INVALID,
        "explanation: NULL");
  headroom_engine_destroy(engine);
}

/* ---- Trying, keeping, looking ---- */

static void test_fork(void) {
  headroom_engine* engine = make_engine(NULL);
  OK(apply_node(engine, "n1", 2000));
  FAILS(headroom_rollback(engine), HEADROOM_INVALID, "no fork is open");
  FAILS(headroom_commit(engine), HEADROOM_INVALID, "no fork is open");
  const uint64_t before = headroom_digest(engine);
  headroom_placement placed;
  OK(headroom_fork(engine));
  OK(headroom_place(engine, cpu_pod("d", "p1", 1000), 1, 0, &placed));
  const uint64_t placed_one = headroom_digest(engine);
  CHECK(placed_one != before);
  OK(headroom_fork(engine));
  OK(headroom_place(engine, cpu_pod("d", "p2", 1000), 1, 0, &placed));
  OK(headroom_rollback(engine));
  CHECK(headroom_digest(engine) == placed_one);
  OK(headroom_fork(engine));
  OK(headroom_place(engine, cpu_pod("d", "p2", 1000), 1, 0, &placed));
  OK(headroom_commit(engine));
  CHECK(headroom_digest(engine) != placed_one);
  OK(headroom_rollback(engine));
  CHECK(headroom_digest(engine) == before);
  FAILS(headroom_rollback(engine), HEADROOM_INVALID, "no fork is open");
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

static void test_save(const char* directory) {
  char path[512], message[512] = "";
  snprintf(path, sizeof(path), "%s/c_abi_test.state", directory);
  headroom_engine *engine = make_engine(NULL), *loaded = NULL;
  OK(apply_node(engine, "n1", 2000));
  OK(headroom_assume(engine, cpu_pod("d", "p1", 1000), "n1"));
  OK(headroom_advance(engine, 77));
  OK(headroom_save(engine, path));
  FAILS(headroom_save(engine, NULL), HEADROOM_INVALID, "path: NULL");
  FAILS(headroom_save(engine, "no-such-directory/state"), HEADROOM_IO, "no-such-directory");
  CHECK(headroom_load(NULL, NULL, path, &loaded, message, sizeof(message)) == HEADROOM_OK);
  CHECK(headroom_digest(loaded) == headroom_digest(engine) && headroom_now(loaded) == 77);
  headroom_engine_destroy(loaded);

  loaded = NULL;
  CHECK(headroom_load(NULL, NULL, NULL, &loaded, message, sizeof(message)) == HEADROOM_INVALID);
  CHECK_TEXT(message, "path: NULL");
  CHECK(headroom_load(NULL, NULL, path, NULL, message, sizeof(message)) == HEADROOM_INVALID);
  CHECK_TEXT(message, "engine: NULL");
  CHECK(headroom_load(NULL, NULL, "no-such-file", &loaded, message, sizeof(message)) ==
        HEADROOM_IO);
  CHECK_TEXT(message, "no-such-file");
  CHECK(headroom_load(kCapacityProfile, NULL, path, &loaded, message, sizeof(message)) ==
        HEADROOM_INVALID);
  CHECK_TEXT(message, "profile");
  FILE* file = fopen(path, "r+b");
  CHECK(file != NULL);
  if (file != NULL) {
    fseek(file, -3, SEEK_END);
    fputc('!', file);
    fclose(file);
  }
  CHECK(headroom_load(NULL, NULL, path, &loaded, message, sizeof(message)) == HEADROOM_INVALID);
  CHECK(loaded == NULL);
  remove(path);
  headroom_engine_destroy(engine);
}

static void test_looking(void) {
  headroom_engine* engine = make_engine(NULL);
  headroom_stats stats;
  OK(headroom_engine_stats(engine, &stats));
  CHECK(stats.nodes == 0 && stats.pods == 0 && stats.decisions == 0);
  OK(apply_node(engine, "n1", 2000));
  OK(apply_node(engine, "n2", 2000));
  headroom_placement placed;
  OK(headroom_place(engine, cpu_pod("d", "p1", 1000), 1, 0, &placed));
  const uint64_t epoch = stats.epoch;
  OK(headroom_engine_stats(engine, &stats));
  CHECK(stats.nodes == 2 && stats.pods == 1 && stats.shapes >= 1 && stats.decisions == 1);
  CHECK(stats.epoch > epoch && stats.cache_bytes > 0);
  FAILS(headroom_engine_stats(engine, NULL), HEADROOM_INVALID, "stats: NULL");

  CHECK(strcmp(headroom_node_name(engine, headroom_find_node(engine, "n2")), "n2") == 0);
  CHECK(strcmp(headroom_node_name(engine, HEADROOM_NO_NODE), "") == 0);
  CHECK(strcmp(headroom_node_name(engine, 12345), "") == 0);
  CHECK(headroom_find_node(engine, "n9") == HEADROOM_NO_NODE);
  CHECK(headroom_find_node(engine, NULL) == HEADROOM_NO_NODE);
  CHECK(headroom_node_of_pod(engine, NULL, NULL) == HEADROOM_NO_NODE);
  CHECK(headroom_node_of_pod(engine, "d", "p1") == placed.node);
  OK(headroom_validate(engine));

  /* An error's text stays until the next error; answers do not touch it. */
  FAILS(headroom_advance(engine, -1), HEADROOM_INVALID, "-1");
  const char* text = headroom_engine_error(engine);
  OK(headroom_engine_stats(engine, &stats));
  CHECK(headroom_engine_error(engine) == text);
  CHECK_TEXT(text, "-1");
  headroom_engine_destroy(engine);
}

/* What a caller passes may go as soon as the call is over. */
static void test_nothing_is_kept(void) {
  headroom_engine* engine = make_engine(NULL);
  char name[] = "n1", pod_name[] = "p1", resource[] = "cpu", key[] = "zone", value[] = "a";
  headroom_amount amounts[] = {{.resource = resource, .value = 2000},
                               {.resource = "pods", .value = 9}};
  headroom_pair pair = {.key = key, .value = value};
  const headroom_node node = {.name = name,
                              .allocatable = amounts,
                              .allocatable_count = SIZE(amounts),
                              .labels = &pair,
                              .label_count = 1};
  const headroom_pod pod = {.name = pod_name,
                            .requests = amounts,
                            .request_count = 1,
                            .node_selector = &pair,
                            .node_selector_count = 1};
  OK(apply_node(engine, "n0", 9000));
  OK(headroom_apply_node(engine, &node));
  headroom_placement placed;
  OK(headroom_place(engine, &pod, 1, 0, &placed));
  const uint64_t digest = headroom_digest(engine);
  memset(name, '?', sizeof(name) - 1);
  memset(pod_name, '?', sizeof(pod_name) - 1);
  memset(resource, '?', sizeof(resource) - 1);
  memset(key, '?', sizeof(key) - 1);
  memset(value, '?', sizeof(value) - 1);
  memset(amounts, 0, sizeof(amounts));
  CHECK(headroom_digest(engine) == digest);
  CHECK(strcmp(headroom_node_name(engine, placed.node), "n1") == 0);
  CHECK(headroom_node_of_pod(engine, NULL, "p1") == placed.node);
  OK(headroom_validate(engine));
  headroom_engine_destroy(engine);
}

/* Sanitizers take memory that a limit would count. */
#ifndef HEADROOM_SANITIZED
static void test_no_memory(void) {
  headroom_engine* engine = make_engine(NULL);
  static const headroom_pod pod = {.name = "p"};
  headroom_placement placed = {.node = 5};
  struct rlimit before;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  struct rlimit limit = before;
  limit.rlim_cur = (rlim_t)8 << 30;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  /* The room for so many is asked for before the first is read. */
  FAILS(headroom_place(engine, &pod, 60000000, 0, &placed), HEADROOM_NO_MEMORY, "no memory");
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(placed.node == 5);
  headroom_engine_destroy(engine);
}
#endif

/* ---- CapacityQuotas ---- */

static void test_capacity_quotas(void) {
  headroom_capacity_quotas* quotas = NULL;
  CHECK(headroom_capacity_quotas_create(2, &quotas) == HEADROOM_INVALID && quotas == NULL);
  CHECK(headroom_capacity_quotas_create(1, &quotas) == HEADROOM_OK);
  headroom_capacity_quotas_destroy(quotas);
  headroom_capacity_quotas_destroy(NULL);
  CHECK(headroom_capacity_quotas_create(0, &quotas) == HEADROOM_OK);
  CHECK(strcmp(headroom_capacity_quotas_error(quotas), "") == 0);

  const char* text =
      "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityQuota\nmetadata: {name: q}\n"
      "spec: {limits: {resources: {cpu: 16, nodes: 3}}}\n"
      "---\n"
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4}}\n"
      "---\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p1}\n";
  size_t applied = 99;
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_apply(quotas, NULL, 0, &applied));
  CHECK(applied == 0);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_apply(quotas, text, strlen(text), &applied));
  CHECK(applied == 2);
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_apply(quotas, NULL, 3, NULL), HEADROOM_INVALID,
                       "text: NULL");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_apply(quotas, "{", 1, NULL), HEADROOM_INVALID,
                       "malformed");
  /* Two nodes, of which the facts take the first alone. */
  const char* too_much =
      "apiVersion: v1\nkind: Node\nmetadata: {name: n5}\nstatus: {capacity: {cpu: 1}}\n"
      "---\n"
      "apiVersion: v1\nkind: Node\nmetadata: {name: n6}\nstatus: {capacity: {cpu: 9E}}\n";
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_apply(quotas, too_much, strlen(too_much), NULL),
                       HEADROOM_LIMIT_EXCEEDED, "n6");

  const headroom_amount amounts[] = {{.resource = "cpu", .value = 4000}};
  headroom_node node = {.name = "n2", .allocatable = amounts, .allocatable_count = 1};
  headroom_capacity_quota_check check;
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 5, &check));
  CHECK(check.requested == 5 && check.allowed == 2 && check.limit_count == 2);
  CHECK(strcmp(check.limits[0].quota, "CapacityQuota/q") == 0);
  CHECK(strcmp(check.limits[0].resource, "cpu") == 0);
  CHECK(check.limits[0].limit == 16000 && check.limits[0].used == 4000);
  CHECK(check.limits[0].need == 20000 && check.limits[0].max_nodes == 3);
  CHECK(!check.limits[0].binding && check.limits[1].binding);
  CHECK(strcmp(check.limits[1].resource, "nodes") == 0 && check.limits[1].max_nodes == 2);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, INT64_MAX, &check));
  CHECK(check.limits[0].need == INT64_MAX);
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_check(quotas, &node, -1, &check), HEADROOM_INVALID,
                       "-1");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_check(quotas, &node, 1, NULL), HEADROOM_INVALID,
                       "check: NULL");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_check(quotas, NULL, 1, &check), HEADROOM_INVALID,
                       "node_template: NULL");

  int64_t accepted = 99;
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_advance(quotas, 1000));
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_advance(quotas, 999), HEADROOM_INVALID, "999");
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_reserve(quotas, "r1", &node, 5, 2000, 0, &accepted));
  CHECK(accepted == 0);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_reserve(quotas, "r1", &node, 5, 2000, 1, &accepted));
  CHECK(accepted == 2);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 1, &check));
  CHECK(check.allowed == 0 && check.limits[0].reserved == 8000);
  accepted = 99;
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_reserve(quotas, "r1", &node, 1, 2000, 1, &accepted),
                       HEADROOM_CONFLICT, "r1");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_reserve(quotas, NULL, &node, 1, 2000, 1, &accepted),
                       HEADROOM_INVALID, "id");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_reserve(quotas, "r2", &node, 1, 1000, 1, &accepted),
                       HEADROOM_INVALID, "1000");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_reserve(quotas, "r2", &node, 1, 2000, 3, &accepted),
                       HEADROOM_INVALID, "up_to: 3");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_reserve(quotas, "r2", &node, 1, 2000, 0, NULL),
                       HEADROOM_INVALID, "accepted: NULL");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_reserve(quotas, "r2", NULL, 1, 2000, 0, &accepted),
                       HEADROOM_INVALID, "node_template: NULL");
  CHECK(accepted == 99);
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_release(quotas, "r2"), HEADROOM_NOT_FOUND, "r2");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_release(quotas, NULL), HEADROOM_NOT_FOUND,
                       "not live");
  const uint64_t reserved = headroom_capacity_quotas_digest(quotas);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_fork(quotas));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_release(quotas, "r1"));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 5, &check));
  CHECK(check.allowed == 2);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_rollback(quotas));
  CHECK(headroom_capacity_quotas_digest(quotas) == reserved);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_advance(quotas, 2000));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 5, &check));
  CHECK(check.allowed == 2);

  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_fork(quotas));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_apply_node(quotas, &node));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_commit(quotas));
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_rollback(quotas), HEADROOM_INVALID,
                       "no fork is open");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_commit(quotas), HEADROOM_INVALID,
                       "no fork is open");
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 5, &check));
  CHECK(check.allowed == 1);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_remove_node(quotas, "n2"));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_remove_node(quotas, NULL));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_remove_quota(quotas, "no-such-quota"));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 5, &check));
  CHECK(check.allowed == 2);
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_remove_quota(quotas, "q"));
  CAPACITY_QUOTAS_OK(headroom_capacity_quotas_check(quotas, &node, 5, &check));
  CHECK(check.allowed == 5 && check.limit_count == 0);
  node.name = NULL;
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_apply_node(quotas, &node), HEADROOM_INVALID,
                       "name is empty");
  CAPACITY_QUOTAS_FAIL(headroom_capacity_quotas_apply_node(quotas, NULL), HEADROOM_INVALID,
                       "node: NULL");
  headroom_capacity_quotas_destroy(quotas);
}

/* ---- Threads ---- */

static int count_threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return -1;
  for (const struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    count += task->d_name[0] != '.';
  }
  closedir(tasks);
  return count;
}

enum { kManyNodes = 3000 };

/* So many nodes, each full of pods that may go, that a preemption is work for several threads. */
static headroom_engine* full_cluster(void) {
  headroom_engine* engine = make_engine(kCapacityProfile);
  OK(apply_text(engine,
                "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
                "metadata: {name: qa, namespace: a}\nspec: {min: {cpu: 12000}}\n"
                "---\n"
                "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
                "metadata: {name: qb, namespace: b}\nspec: {min: {cpu: 0}}\n",
                NULL));
  for (int n = 0; n < kManyNodes; ++n) {
    char node[16], pod_name[16];
    snprintf(node, sizeof(node), "n%d", n);
    snprintf(pod_name, sizeof(pod_name), "b%d", n);
    OK(apply_node(engine, node, 4000));
    headroom_pod* pod = cpu_pod("b", pod_name, 3900);
    pod->node_name = node;
    OK(headroom_apply_pod(engine, pod));
  }
  return engine;
}

/* Places pods one by one, with preemption; the digest says all that came of it. */
static void* run_engine(void* digest) {
  headroom_engine* engine = full_cluster();
  for (int p = 0; p < 40; ++p) {
    char name[16];
    snprintf(name, sizeof(name), "a%d", p);
    headroom_placement placed;
    OK(headroom_place(engine, cpu_pod("a", name, 2000), 1, 1, &placed));
    CHECK(placed.victim_count == 1);
  }
  headroom_decision decision;
  OK(headroom_evaluate(engine, cpu_pod("a", "last", 50), 1024, &decision));
  OK(headroom_validate(engine));
  *(uint64_t*)digest = headroom_digest(engine);
  headroom_engine_destroy(engine);
  return NULL;
}

static void test_threads(int threads_before) {
  uint64_t digests[3] = {0, 1, 2};
  run_engine(&digests[0]);
  CHECK(threads_before > 0 && count_threads() == threads_before);
  pthread_t threads[2];
  for (int t = 0; t < 2; ++t) {
    CHECK(pthread_create(&threads[t], NULL, run_engine, &digests[1 + t]) == 0);
  }
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  CHECK(digests[0] == digests[1] && digests[0] == digests[2]);
}

int main(int argc, char** argv) {
  const int threads_before = count_threads();
  if (argc != 2) {
    printf("%s DIRECTORY\n", argv[0]);
    return 2;
  }
  test_version();
  test_no_handle();
  test_apply_text();
  test_plain_structs();
  test_limits();
  test_facts();
  test_what_pods_refer_to();
  test_evaluate();
  test_place();
  test_elastic_quotas_of_teams();
  test_metric_first();
  test_no_namespace();
  test_explain();
  test_fork();
  test_save(argv[1]);
  test_looking();
  test_nothing_is_kept();
#ifndef HEADROOM_SANITIZED
  test_no_memory();
#endif
  test_capacity_quotas();
  test_threads(threads_before);
  test_create(); /* asks for threads */
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
