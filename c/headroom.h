/*
 * headroom.h: Headroom's engine and its capacity quotas for C11, and for whatever calls C.
 *
 *   headroom_engine* engine;
 *   if (headroom_engine_create(NULL, NULL, &engine, NULL, 0) != HEADROOM_OK) return;
 *   const headroom_amount allocatable[] = {{"cpu", 4000}, {"pods", 110}};
 *   const headroom_amount requests[] = {{"cpu", 500}};
 *   const headroom_node node = {.name = "n1", .allocatable = allocatable, .allocatable_count = 2};
 *   const headroom_pod pod = {.name = "web-1", .requests = requests, .request_count = 1};
 *   headroom_placement placed;
 *   if (headroom_apply_node(engine, &node) != HEADROOM_OK ||
 *       headroom_place(engine, &pod, 1, 0, &placed) != HEADROOM_OK) {
 *     printf("%s\n", headroom_engine_error(engine));
 *   } else {
 *     printf("%s: %s\n", pod.name, headroom_node_name(engine, placed.node));
 *   }
 *   headroom_engine_destroy(engine);
 *
 * Answers are those of the C++ engine, whose headers (engine/engine.h,
 * autoscaling/capacity_quotas.h) say where each rule is from.
 *
 * Errors: every call that can fail returns a headroom_status; where it is not HEADROOM_OK nothing
 * has changed, no answer was written, and headroom_engine_error() or
 * headroom_capacity_quotas_error() has the text, which names the field and the value. A NULL handle
 * is HEADROOM_INVALID. No exception and no signal leaves the library.
 *
 * Memory: what a caller passes is read during the call and not kept. Pointers in answers belong to
 * the handle: they are valid until the next call that takes it, calls that take it as const apart.
 * Texts are UTF-8 and end with NUL; a NULL text counts as "". Of a list with a count of 0 the
 * pointer is not read.
 *
 * Threads: one at a time for a handle, any number for several. The library starts no threads unless
 * headroom_engine_options.threads asks for them, but for one that headroom_apply() reads a large
 * text with; it reads no clock and no environment but HEADROOM_KERNELS, and keeps no state outside
 * handles.
 *
 * Amounts are in the resource's unit: cpu in thousandths of a core, everything else in whole units
 * (bytes, pods, devices). Times are microseconds since the Unix epoch.
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a program that was compiled against an older header would not work any more. */
#define HEADROOM_ABI_VERSION 2

/* The HEADROOM_ABI_VERSION of the library that is running: compare before anything else. */
uint32_t headroom_abi_version(void);
/* "0.1.0" */
const char* headroom_version(void);

typedef enum headroom_status {
  HEADROOM_OK = 0,
  HEADROOM_INVALID = 1,        /* a value that cannot be used */
  HEADROOM_NOT_FOUND = 2,      /* a node, pod or file that is not known */
  HEADROOM_CONFLICT = 3,       /* contradicts the current facts */
  HEADROOM_LIMIT_EXCEEDED = 4, /* over a named limit */
  HEADROOM_UNSUPPORTED = 5,    /* something that Headroom does not do */
  HEADROOM_IO = 6,             /* the operating system refused */
  HEADROOM_NO_MEMORY = 7,      /* the handle is to be destroyed: a change may be half done */
  HEADROOM_INTERNAL = 8        /* our mistake; the same */
} headroom_status;

/* kube-scheduler's status codes, in answers. */
typedef enum headroom_code {
  HEADROOM_SUCCESS = 0,
  HEADROOM_ERROR = 1,
  HEADROOM_UNSCHEDULABLE = 2,
  HEADROOM_UNSCHEDULABLE_AND_UNRESOLVABLE = 3
} headroom_code;

/* A node's number: the same as long as some fact mentions its name. Ties go to the lowest. */
typedef uint32_t headroom_node_index;
#define HEADROOM_NO_NODE ((headroom_node_index)0xFFFFFFFFu)

/* ---- Objects ---- */

typedef struct headroom_pair {
  const char *key, *value;
} headroom_pair;

/* So much of one resource. */
typedef struct headroom_amount {
  const char* resource; /* "cpu", "memory", "nvidia.com/gpu" */
  int64_t value;
} headroom_amount;

/*
 * A pod of one container, without the fields that most simulated pods have no use for. Or, where
 * json is not NULL, the pod that it describes as Kubernetes does (YAML will not do); the other
 * fields are not read then. No resource or key may be twice in one list.
 */
typedef struct headroom_pod {
  const char* namespace_name; /* NULL or "": "default", here and wherever one is given */
  const char* name;
  const char* uid; /* NULL or "": "namespace/name", as for JSON that has none */
  const headroom_amount* requests;
  size_t request_count;
  const headroom_amount* limits; /* a limit of 0 is one; a resource that is not here has none */
  size_t limit_count;
  const headroom_pair* node_selector;
  size_t node_selector_count;
  const char* node_name; /* bound to it; NULL: pending */
  int32_t priority;
  const char* json;
  size_t json_size;
} headroom_pod;

/*
 * A node likewise, whose capacity is what is allocatable. It takes as many pods as its "pods" say:
 * without them, none.
 */
typedef struct headroom_node {
  const char* name;
  const headroom_amount* allocatable;
  size_t allocatable_count;
  const headroom_pair* labels;
  size_t label_count;
  int32_t unschedulable; /* 0 or 1 */
  const char* json;
  size_t json_size;
} headroom_node;

/* ---- Engine ---- */

typedef struct headroom_engine headroom_engine;

/*
 * All defaults, then what shall be otherwise:
 *   headroom_engine_options options = HEADROOM_ENGINE_OPTIONS_DEFAULT;
 *   options.seed = 7;
 */
typedef struct headroom_engine_options {
  /*
   * sizeof(headroom_engine_options), of the header that the caller was compiled with: fields that
   * a newer library has beyond it count as 0. HEADROOM_INVALID: smaller than any header's;
   * HEADROOM_UNSUPPORTED: larger than this library's.
   */
  size_t struct_size;
  uint64_t seed;          /* 0: ties go to the lowest node; else to an order drawn from it */
  size_t cache_bytes_max; /* 0: 512 MiB */
  uint32_t threads;       /* 0 and 1: the caller's alone; at most 1,024 */
} headroom_engine_options;
#define HEADROOM_ENGINE_OPTIONS_DEFAULT \
  { sizeof(headroom_engine_options), 0, 0, 0 }

/*
 * profile: a KubeSchedulerConfiguration, a HeadroomConfiguration or both, as YAML or JSON text
 * (docs/configuration.md); NULL: the standard profile. options: NULL for the defaults. *engine is
 * set on success alone. message, where not NULL, is the caller's room of message_size bytes for an
 * error's text: there is no handle to ask yet.
 */
headroom_status headroom_engine_create(const char* profile, const headroom_engine_options* options,
                                       headroom_engine** engine, char* message,
                                       size_t message_size);
/* NULL does nothing. Whatever the handle owned is invalid. */
void headroom_engine_destroy(headroom_engine* engine);
/* What the last call that failed said; "" before one did. Valid until the next call that fails. */
const char* headroom_engine_error(const headroom_engine* engine);

/* ---- Facts. Each is idempotent and applies whole or not at all. ---- */

/*
 * Objects of the kinds of headroom_kind as kubectl prints them: a List, JSON lines, YAML documents
 * or one object. CapacityQuotas and kinds that Headroom does not read are passed over. applied,
 * where not NULL: how many objects were not. From Namespace on, a kind is kept only where a plugin
 * of the profile reads it. A text of a megabyte or more for an engine that never had a node is read
 * by a second thread, which ends before the call does.
 */
headroom_status headroom_apply(headroom_engine* engine, const char* text, size_t size,
                               size_t* applied);
headroom_status headroom_apply_node(headroom_engine* engine, const headroom_node* node);
headroom_status headroom_apply_pod(headroom_engine* engine, const headroom_pod* pod);

typedef enum headroom_kind {
  HEADROOM_NODE = 0,
  HEADROOM_POD = 1,
  HEADROOM_NODE_METRIC = 2,
  HEADROOM_ELASTIC_QUOTA = 3,
  HEADROOM_POD_DISRUPTION_BUDGET = 4,
  HEADROOM_PRIORITY_CLASS = 5,
  HEADROOM_NAMESPACE = 6,
  HEADROOM_SERVICE = 7,
  HEADROOM_REPLICATION_CONTROLLER = 8,
  HEADROOM_REPLICA_SET = 9,
  HEADROOM_STATEFUL_SET = 10,
  HEADROOM_PERSISTENT_VOLUME = 11,
  HEADROOM_PERSISTENT_VOLUME_CLAIM = 12,
  HEADROOM_STORAGE_CLASS = 13,
  HEADROOM_CSI_NODE = 14,
  HEADROOM_CSI_DRIVER = 15,
  HEADROOM_CSI_STORAGE_CAPACITY = 16
} headroom_kind;

/* namespace_name is not read for kinds that have none. Removing what is not there changes nothing.
 */
headroom_status headroom_remove(headroom_engine* engine, headroom_kind kind,
                                const char* namespace_name, const char* name);
/* The pod counts on the node until it is bound, forgotten or removed. */
headroom_status headroom_assume(headroom_engine* engine, const headroom_pod* pod,
                                const char* node_name);
/*
 * Undoes headroom_assume() of the same uid (NULL or "": "namespace/name") on the same node;
 * anything else changes nothing.
 */
headroom_status headroom_forget(headroom_engine* engine, const char* namespace_name,
                                const char* name, const char* uid, const char* node_name);
/* Moves the clock; never backwards. */
headroom_status headroom_advance(headroom_engine* engine, int64_t now_us);
int64_t headroom_now(const headroom_engine* engine);

/* ---- Decisions. None but headroom_place() changes a fact. ---- */

typedef struct headroom_plugin_score {
  const char* plugin; /* "LimitAware"; valid as long as the library */
  int64_t raw;        /* what Score returns */
  int32_t score;      /* after NormalizeScore, in [0, 100] */
} headroom_plugin_score;

typedef struct headroom_candidate {
  headroom_node_index node;
  int64_t total; /* sum of weight * score */
  const headroom_plugin_score* plugins;
  size_t plugin_count;
} headroom_candidate;

typedef struct headroom_decision {
  headroom_code code;
  uint32_t nodes;                       /* known */
  uint32_t feasible;                    /* of them */
  const headroom_candidate* candidates; /* best first */
  size_t candidate_count;
  const char* message; /* "" on success; else as kube-scheduler puts it: "0/5 nodes are ..." */
} headroom_decision;

/*
 * top_k: candidates, in [1, 1024]. A pod that counts on a node already, by namespace and name, is
 * decided as if it did not. Of all nodes, also where the pod is nominated to one, which
 * headroom_place() tries first.
 */
headroom_status headroom_evaluate(headroom_engine* engine, const headroom_pod* pod, uint32_t top_k,
                                  headroom_decision* decision);

typedef struct headroom_victim {
  const char *namespace_name, *name, *uid;
  headroom_node_index node;
  int32_t priority;
} headroom_victim;

typedef struct headroom_placement {
  headroom_node_index node; /* HEADROOM_NO_NODE: not placed, and message says why */
  int64_t total;            /* of that node; 0 where it was nominated to it, and nobody scored */
  const char* message;      /* "" where it is placed */
  /* With preempt: where the pod waits for the victims to go, who count until they are removed. */
  headroom_node_index nominated_node;
  const headroom_victim* victims;
  size_t victim_count;
} headroom_placement;

/*
 * One pod after the other, each assumed on its best node before the next is asked; on the node that
 * it is nominated to, where that still takes it. placements: the caller's room for count answers.
 * preempt: 1: a pod that finds no node may have others go (profiles with CapacityScheduling). On an
 * error none is placed; HEADROOM_INVALID: one pod is there twice.
 */
headroom_status headroom_place(headroom_engine* engine, const headroom_pod* pods, size_t count,
                               int32_t preempt, headroom_placement* placements);

typedef struct headroom_texts {
  const char* const* items;
  size_t count;
} headroom_texts;

/* May the pod's namespace have it? Success without CapacityScheduling. reasons may be NULL. */
headroom_status headroom_pre_filter(headroom_engine* engine, const headroom_pod* pod,
                                    headroom_code* code, headroom_texts* reasons);

/*
 * What the pod asks for, or nodes say, that no plugin here looks at, in words: "required pod
 * anti-affinity". Every answer about the pod leaves it out. A pod without json asks for none of it;
 * nodes may have PreferNoSchedule taints.
 */
headroom_status headroom_not_considered(headroom_engine* engine, const headroom_pod* pod,
                                        headroom_texts* what);

typedef struct headroom_preemption {
  headroom_code code; /* HEADROOM_SUCCESS: the victims make room; else the reasons say why not */
  headroom_node_index nominated_node;
  const headroom_victim* victims; /* most important first */
  size_t victim_count;
  int64_t pdb_violations;
  int32_t cross_node; /* victims on other nodes as well */
  headroom_texts reasons;
} headroom_preemption;

/* Who must go so that the pod, which found no node, has its place? Nothing changes. */
headroom_status headroom_post_filter(headroom_engine* engine, const headroom_pod* pod,
                                     headroom_preemption* preemption);

/* One resource of an ElasticQuota that counts. */
typedef struct headroom_elastic_quota_amount {
  const char *namespace_name, *name, *resource;
  int64_t min, max; /* 0 and INT64_MAX where the quota names none */
  int64_t used;
  int64_t nominated; /* by pods that wait for victims to go */
  int32_t over_min;  /* the quota uses more than its min: it borrows */
} headroom_elastic_quota_amount;

/* By namespace. */
headroom_status headroom_elastic_quota_status(headroom_engine* engine,
                                              const headroom_elastic_quota_amount** amounts,
                                              size_t* count);

/* One line of an explanation: the numbers that went in, and what came out. */
typedef struct headroom_term {
  const char *plugin, *extension_point; /* "LimitAware", "Filter" */
  const char* resource;                 /* "" where the line is not about one */
  int64_t capacity, aggregate, need;
  const char* formula; /* "(capacity - aggregate - need) * 100 / capacity" */
  int64_t result;
  int32_t passed;
  const char* note;
} headroom_term;

typedef struct headroom_explanation {
  headroom_code code;
  const headroom_term* terms;
  size_t term_count;
  int64_t total;
} headroom_explanation;

/* Every filter and score of the pod on that node. */
headroom_status headroom_explain(headroom_engine* engine, const headroom_pod* pod,
                                 const char* node_name, headroom_explanation* explanation);

/*
 * What the cluster would write of the pod's claims that wait for their first consumer, were it
 * bound to the node: each claim's volume, and the claim, bound, as JSON texts for headroom_apply().
 * None where no claim waits or the node rejects the pod. Nothing changes: who plays the cluster
 * applies them before it assumes the pod. Valid until the next answer in texts. HEADROOM_NOT_FOUND:
 * the node is not known.
 */
headroom_status headroom_bound_volumes(headroom_engine* engine, const headroom_pod* pod,
                                       const char* node_name, headroom_texts* objects);

/* ---- Trying ---- */

/*
 * From headroom_fork() to headroom_rollback() every change is remembered and taken back by it;
 * headroom_commit() keeps them. They nest. A fork costs nothing, what follows a copy of what
 * changes. HEADROOM_INVALID: no fork is open.
 */
headroom_status headroom_fork(headroom_engine* engine);
headroom_status headroom_rollback(headroom_engine* engine);
headroom_status headroom_commit(headroom_engine* engine);

/* ---- Keeping ---- */

/* All facts and the time, into a file that is there whole or not at all. */
headroom_status headroom_save(headroom_engine* engine, const char* path);
/*
 * A new engine of the profile under which the file was saved. HEADROOM_INVALID: not such a file,
 * damaged, of another version or profile. Parameters as in headroom_engine_create().
 */
headroom_status headroom_load(const char* profile, const headroom_engine_options* options,
                              const char* path, headroom_engine** engine, char* message,
                              size_t message_size);

/* ---- Looking ---- */

typedef struct headroom_stats {
  uint32_t nodes, pods, shapes;
  uint64_t epoch;     /* grows with every change of a node's row */
  uint64_t decisions; /* since the engine was made */
  uint64_t cache_bytes;
} headroom_stats;

headroom_status headroom_engine_stats(headroom_engine* engine, headroom_stats* stats);
/* "" for a number that is no node's. */
const char* headroom_node_name(const headroom_engine* engine, headroom_node_index node);
/* HEADROOM_NO_NODE where no such node is known; that others mention its name is not enough. */
headroom_node_index headroom_find_node(const headroom_engine* engine, const char* name);
/* Where the pod counts, bound or assumed; HEADROOM_NO_NODE: nowhere. */
headroom_node_index headroom_node_of_pod(const headroom_engine* engine, const char* namespace_name,
                                         const char* name);
/* The same for the same facts, whatever their order. O(nodes + pods). */
uint64_t headroom_digest(const headroom_engine* engine);
/* Recomputes every sum from the facts; HEADROOM_INTERNAL: one differs. O(nodes + pods). */
headroom_status headroom_validate(headroom_engine* engine);

/* ---- CapacityQuotas: may the cluster grow by these nodes? ---- */

typedef struct headroom_capacity_quotas headroom_capacity_quotas;

/* ignore_deleting: 1: nodes that are marked for deletion do not count. */
headroom_status headroom_capacity_quotas_create(int32_t ignore_deleting,
                                                headroom_capacity_quotas** quotas);
void headroom_capacity_quotas_destroy(headroom_capacity_quotas* quotas);
const char* headroom_capacity_quotas_error(const headroom_capacity_quotas* quotas);

/* Nodes and CapacityQuotas; other kinds are passed over. Otherwise as headroom_apply(). */
headroom_status headroom_capacity_quotas_apply(headroom_capacity_quotas* quotas, const char* text,
                                               size_t size, size_t* applied);
headroom_status headroom_capacity_quotas_apply_node(headroom_capacity_quotas* quotas,
                                                    const headroom_node* node);
headroom_status headroom_capacity_quotas_remove_node(headroom_capacity_quotas* quotas,
                                                     const char* name);
headroom_status headroom_capacity_quotas_remove_quota(headroom_capacity_quotas* quotas,
                                                      const char* name);
/* Moves the clock; never backwards. Reservations lapse when it reaches their end. */
headroom_status headroom_capacity_quotas_advance(headroom_capacity_quotas* quotas, int64_t now_us);

/* One limit against one request. Amounts beyond int64 are INT64_MAX. */
typedef struct headroom_capacity_quota_limit {
  const char* quota; /* "CapacityQuota/team-a" */
  const char* resource;
  int64_t limit, used, reserved;
  int64_t need;      /* of all nodes that were asked for */
  int64_t max_nodes; /* the most that this limit would take, whatever was asked */
  int32_t binding;   /* max_nodes is what is allowed, and that is less than asked */
} headroom_capacity_quota_limit;

typedef struct headroom_capacity_quota_check {
  int64_t requested, allowed;
  const headroom_capacity_quota_limit* limits; /* all that the node touches */
  size_t limit_count;
} headroom_capacity_quota_check;

/* May count such nodes be created, and how many? */
headroom_status headroom_capacity_quotas_check(headroom_capacity_quotas* quotas,
                                               const headroom_node* node_template, int64_t count,
                                               headroom_capacity_quota_check* check);
/*
 * Holds the nodes until they register, expires_us, or headroom_capacity_quotas_release(). up_to: 1:
 * as many as fit; 0: all or none. *accepted: how many are held. HEADROOM_CONFLICT: the id is live.
 */
headroom_status headroom_capacity_quotas_reserve(headroom_capacity_quotas* quotas, const char* id,
                                                 const headroom_node* node_template, int64_t count,
                                                 int64_t expires_us, int32_t up_to,
                                                 int64_t* accepted);
/* Gives back what is left of it. HEADROOM_NOT_FOUND: no such reservation is live. */
headroom_status headroom_capacity_quotas_release(headroom_capacity_quotas* quotas, const char* id);
headroom_status headroom_capacity_quotas_fork(headroom_capacity_quotas* quotas);
headroom_status headroom_capacity_quotas_rollback(headroom_capacity_quotas* quotas);
headroom_status headroom_capacity_quotas_commit(headroom_capacity_quotas* quotas);
uint64_t headroom_capacity_quotas_digest(const headroom_capacity_quotas* quotas);

#ifdef __cplusplus
}
#endif

#endif
