// Applications: what pods ask of other pods, by topology domain, of nodes softly, and of volumes;
// and the counters that tell it, kept up to date by every event.
//
// The cluster tells it of every pod that begins or ends to count, of nodes and of the objects that
// both refer to. A decision asks for the pod's application, has it prepared, and looks at nodes
// through an ApplicationLook (look.h).
// Thread safety: one thread at a time; const members from any number. Cost: a pod that comes or
// goes is O(counters that it feeds). A new application is held against the peers of the namespaces
// that it covers, and a new peer against the applications there are; O(1) a pod that matches. A
// node that changes is O(keys + counters that its pods feed), and O(classes), or O(nodes) where
// classes do not tell it, with the next decision of an application with hard constraints; where it
// makes a key another kind (KeyKind) each application is counted anew when it is next asked for,
// and always one with volumes that are bound to some nodes.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/applications/application.h"
#include "engine/applications/application_maker.h"
#include "engine/applications/images.h"
#include "engine/applications/peers.h"
#include "engine/applications/read_labels.h"
#include "engine/classes/row_classes.h"
#include "engine/domains/chosen_volumes.h"
#include "engine/domains/topology.h"
#include "engine/domains/volume_index.h"
#include "engine/kept/referred_objects.h"
#include "engine/profile/profile.h"
#include "engine/table/facts.h"
#include "engine/table/node_table.h"
#include "engine/table/rejections.h"

namespace headroom {

// The least recently used go first, also where they take more than a share of what shapes may.
inline constexpr std::uint32_t kApplicationsMax = 100'000;

// A plugin whose score an application gives.
struct ApplicationScore {
  PluginId plugin;
  std::int64_t weight;
};
inline constexpr std::uint32_t kApplicationScoresMax = 6;

class Applications {
 public:
  Applications(const Profile& profile, Facts& facts, const NodeTable& table, RowClasses& classes,
               const ReferredObjects& referred, Rejections& rejections, std::size_t bytes_max);
  ~Applications();
  Applications(const Applications&) = delete;
  Applications& operator=(const Applications&) = delete;

  // Whether some plugin of the profile is of applications: else no pod has one.
  bool any() const { return any_; }
  bool reads_images() const { return image_locality_; }
  const std::vector<ApplicationScore>& scores() const { return scores_; }
  PeerBook& peers() { return peers_; }
  const PeerBook& peers() const { return peers_; }

  // --- Events ---
  // Asks for the row's domains, which count() reads.
  void prefetch_domains(std::uint32_t row) const { topology_.prefetch(row); }
  void count(PodId id) noexcept;
  void uncount(PodId id) noexcept;
  // `reclassify` puts the row into the class of what its node is now, and changes nothing else.
  void change_node(std::uint32_t row, const KeptNode* before, const KeptNode* after,
                   const std::function<void()>& reclassify);
  // nullptr: there was none, or is none any more. `row`: of the node of a CSINode's name, or
  // kNoRow.
  void change(ReferredKind kind, const ReferredObject* before, const ReferredObject* after,
              std::uint32_t row);

  // --- Volumes of pods that are assumed ---
  // The pod is assumed on the row from now on: what it chooses there is chosen anew.
  void choose_volumes(PodId id, const Pod& pod, std::uint32_t row);
  // What it chose; nothing: it is not assumed any more, or has no claim that waits.
  void set_chosen(PodId id, ChosenVolumes::Choices choices);
  // As if the pod, which chose some, had not, until it is brought back.
  void set_chosen_aside(PodId id);
  void bring_chosen_back(PodId id) noexcept;

  // --- Decisions ---
  // nullptr: none. Valid until the next is asked for.
  Application* for_decision(const Pod& pod);
  // The same of a pod that is asked for again and again, with what came of it last.
  struct Known {
    Application* application = nullptr;
    std::uint64_t edition = 0;
  };
  Application* for_decision(const Pod& pod, Known& last);
  // Equal for pods that share an application whatever else is read of labels. Valid until the next
  // is asked for.
  const std::string& whole_key(const Pod& pod) { return maker_.whole_key(pod); }
  // A turn of telling nodes apart by what the application reads, and of holding what it prefers
  // against their classes, for callers whose thread serves others too; true when nothing of it is
  // left.
  bool tell_apart(Application& application, const Pause& pause);
  // Makes its counters what the facts say. Before rows are looked at for it.
  void prepare(Application& application);
  // Drops what decisions keep with applications.
  void drop_kept() noexcept;
  // What Application::kept takes.
  void set_kept_bytes(Application& application, std::size_t bytes);

  // --- Looking; for ApplicationLook ---
  const Profile& profile() const { return profile_; }
  const Facts& facts() const { return facts_; }
  const NodeTable& table() const { return table_; }
  const RowClasses& classes() const { return classes_; }
  const ReferredObjects& referred() const { return referred_; }
  const Topology& topology() const { return topology_; }
  const Images& images() const { return images_; }
  Rejections& rejections() const { return rejections_; }
  std::uint32_t node_count() const { return node_count_; }
  const VolumeIndex& volume_index() const { return volume_index_; }
  const ChosenVolumes& chosen_volumes() const { return chosen_volumes_; }
  // What the volume plugins read of a row.
  struct RowVolumes {
    std::vector<PodId> pods;                   // with volumes, that count
    std::uint32_t volumes = 0, ephemeral = 0;  // of theirs
    const CsiNode* csi_node = nullptr;         // of the row's node
    std::int64_t least_limit = INT64_MAX;      // of any driver there

    // That so many more are not too many, were each volume another one.
    bool has_room(std::size_t more) const {
      return static_cast<std::int64_t>(volumes + more) <= least_limit && ephemeral == 0;
    }
  };
  const RowVolumes& row_volumes(std::uint32_t row) const;
  // Calls visit(row) for those of which has_room(more) does not say so.
  template <typename Visit>
  void each_row_without_room(std::size_t more, Visit visit) const {
    for (std::uint32_t row = 0; row < row_volumes_.size(); ++row) {
      if (!row_volumes_[row].has_room(more)) {
        visit(row);
      }
    }
  }
  // Pods with the claim, "namespace/name", that count.
  const std::vector<PodId>& claim_pods(std::string_view claim) const;
  // By class: its nodes' first row; kNoRow: none. As of the last prepare().
  const std::vector<std::uint32_t>& first_rows() const { return first_rows_; }
  bool takes_part(const Application& application, const SpreadConstraint& constraint,
                  std::uint32_t row) const;
  // The row's domain as a soft constraint counts it: under System's defaults a node without the key
  // is in the domain of "", where some node has that; else, and if none has, kNoDomain.
  DomainId soft_domain(const Application& application, TopologyKeyId key, std::uint32_t row) const {
    const DomainId domain = topology_.domain(key, row);
    return domain == kNoDomain && application.system_defaults ? topology_.find_domain(key, "")
                                                              : domain;
  }
  // What pods of the peer feed of the application; nullptr: nothing.
  const std::vector<Feed>* feeds(const Application& application, PeerId peer) const;
  // Where the counter keeps what the row's pods feed; kNoDomain: nowhere.
  std::uint32_t cell_of(const Application& application, const Counter& counter,
                        std::uint32_t row) const;

  // Calls visit(row) for the rows of a fine key's domain.
  template <typename Visit>
  void each_row(TopologyKeyId key, std::uint32_t domain, Visit visit) const {
    if (key == kByRow) {
      visit(domain);
    } else {
      topology_.each_row(key, domain, visit);
    }
  }
  // The row's domain of a fine key, or kNoDomain.
  std::uint32_t domain_of(TopologyKeyId key, std::uint32_t row) const {
    return key == kByRow ? row : topology_.domain(key, row);
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(ids_.size()); }
  // kConflict if some counter is not what the pods come to, or what is found of volumes not what
  // the objects say.
  Result<void> validate();
  // The same of one application, and each in its turn: count() calls look at all that there are.
  Result<void> validate_next();

 private:
  // Where memory ends half way through a change, all applications begin anew.
  class Whole {
   public:
    explicit Whole(Applications& its) : its_(its), exceptions_(std::uncaught_exceptions()) {}
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;
    ~Whole() { its_.broken_ |= std::uncaught_exceptions() > exceptions_; }

   private:
    Applications& its_;
    const int exceptions_;
  };
  void begin_anew() noexcept;
  // After memory ended half way.
  void mend();
  // What is described of applications by the keys that they hold, as these are.
  struct KeyKind {
    bool fine = false;        // classes do not tell its domains apart
    bool everywhere = false;  // of a fine one: each node has it
    bool has_empty = false;   // there is a domain of the value ""

    friend bool operator==(const KeyKind&, const KeyKind&) = default;
  };
  std::vector<KeyKind> key_kinds() const;  // by key
  bool is_fine(TopologyKeyId key) const;
  // Whether a node is in another domain of a fine key than before.
  bool moves_finely(const KeptNode& before, const KeptNode& after) const;
  void feed_pods_of(std::uint32_t row, int sign);
  void feed_all_of(const PodFacts& pod, int sign);  // all that its peer feeds
  void namespace_changes(std::string_view name);
  void selector_changes(const ReferredObject& object);
  void set_csi_node(std::uint32_t row, const CsiNode* csi_node);
  RowVolumes& make_row_volumes(std::uint32_t row);
  void count_volumes_of(PodId id);
  void uncount_volumes_of(PodId id);
  void count_volumes(const PodPeer& peer, std::uint32_t row, int sign);
  Result<void> validate(Application& application);
  Result<void> validate_volumes();
  Result<void> validate_images() const;
  Images images_of_nodes() const;  // counted anew
  // That its labels count by which its own selectors read.
  void note_read(const Pod& pod);
  // While it is the same, so is which pods have which application.
  std::uint64_t edition() const { return read_.version() + dropped_; }

  bool is_current(const Application& application) const;
  bool is_described(const Application& application) const;
  // prepare() would find nothing to do.
  bool is_prepared(const Application& application) const;
  void describe_counters(Application& application);
  void rebuild(Application& application);
  void read_classes(Application& application);
  std::uint32_t counter(Application& application, Counter::Kind kind, std::string_view key,
                        std::uint32_t index = 0);
  static void make_fine(Application& application, Counter& counter);
  TopologyKeyId hold_key(Application& application, std::string_view key);
  void release(const std::vector<TopologyKeyId>& keys);
  void add_spread(Application& application);
  void count_domains(Application& application);
  std::uint32_t count_domains_by_row(const Application& application,
                                     const SpreadConstraint& constraint) const;
  bool takes_part(const Application& application, const SpreadConstraint& constraint,
                  const NodeClass& node_class, std::string_view name) const;
  void extend(const Application& application, const SpreadConstraint& constraint) const;
  // Application::preference, for the classes that are new; false: not for all of them yet.
  bool weigh_preferences(Application& application, const Pause& pause) const;
  std::vector<Feed> feeds_of(Application& application, const PodPeer& peer);
  void subscribe(Application& application, PodPeer& peer);
  void subscribe_all(Application& application);
  void forget(Application& application);
  void feed(Application& application, const Feed& feed, std::uint32_t row, int sign);
  template <typename Change>
  void note(Application& application, std::vector<Change>& changes, Change change);
  void peer_made(PodPeer& peer);
  void peer_gone(PodPeer& peer);
  void find_first_rows();
  std::vector<std::uint32_t> look_for_first_rows() const;
  bool has_first_rows();  // those of classes are what they should be
  std::uint32_t next_row(std::uint32_t node_class, std::uint32_t row) const;
  void measure(Application& application);
  void trim();
  void drop(Application& application);

  const Profile& profile_;
  Facts& facts_;
  const NodeTable& table_;
  RowClasses& classes_;
  const ReferredObjects& referred_;
  Rejections& rejections_;
  const std::size_t bytes_max_;
  const bool any_, spreads_, pod_affinity_, image_locality_;
  std::vector<ApplicationScore> scores_;

  ReadLabels read_;
  ApplicationMaker maker_;
  Topology topology_;
  std::vector<std::uint32_t> key_users_;  // by key: applications that hold it
  PeerBook peers_;
  Images images_;
  BytesMap<std::string_view, std::unique_ptr<Application>> ids_;  // into Application::key
  std::list<Application*> use_order_;                             // used last first
  std::list<Application*> check_order_;                           // validated last last
  BytesMap<std::string, std::vector<Application*>> in_namespace_;
  std::vector<Application*> crossing_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;  // applications, or all of them
  std::uint32_t node_count_ = 0;
  std::uint64_t keys_generation_ = 1, volumes_generation_ = 1, node_changes_ = 1, versions_ = 0;
  std::vector<std::uint32_t> first_rows_;
  std::uint64_t first_rows_version_ = 0, first_rows_generation_ = 0;  // of classes
  VolumeIndex volume_index_{topology_};
  ChosenVolumes chosen_volumes_{referred_, volume_index_};
  std::vector<RowVolumes> row_volumes_;  // by row; of rows from its size on there is nothing
  BytesMap<std::string, std::vector<PodId>> claim_pods_;
  bool broken_ = false;
};

}  // namespace headroom
