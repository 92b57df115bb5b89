// VolumeIndex beside a look at every object: a node's labels lead to all that it can use.
#include "engine/domains/volume_index.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>

#include "engine/applications/terms.h"

namespace headroom::volume_index_test {
namespace {

const std::string kZone = "zone", kHost = "host";

std::string one_of(std::mt19937& random, const char* what, std::uint32_t count) {
  return what + std::to_string(random() % count);
}

NodeSelectorTerm term_of(std::mt19937& random) {
  const bool by_host = random() % 2 == 0;
  const char* op = random() % 4 == 0 ? "NotIn" : "In";
  NodeSelectorTerm term;
  term.match_expressions = {
      {by_host ? kHost : kZone, op, {one_of(random, by_host ? "h" : "z", 3)}}};
  if (random() % 3 == 0) {
    term.match_expressions.front().values.push_back(by_host ? "h7" : "z1");
  } else if (random() % 8 == 0) {
    term.match_expressions.front().values.clear();
  }
  if (random() % 4 == 0) {
    term.match_expressions.push_back({kZone, "Exists", {}});
  }
  return term;
}

ReferredObject volume_of(std::mt19937& random) {
  PersistentVolume volume;
  volume.name = one_of(random, "pv-", 12);
  volume.storage_class = one_of(random, "class-", 2);
  volume.capacity_bytes = static_cast<std::int64_t>(random() % 4);
  if (random() % 4 != 0) {
    volume.node_affinity = {term_of(random)};
    if (random() % 4 == 0) {
      volume.node_affinity->push_back(term_of(random));
    }
  }
  if (random() % 3 == 0) {
    volume.claim_namespace = "team";
    volume.claim_name = one_of(random, "claim-", 3);
  }
  return volume;
}

ReferredObject storage_of(std::mt19937& random) {
  CsiStorageCapacity storage;
  storage.namespace_name = "storage";
  storage.name = one_of(random, "", 12);
  storage.storage_class = one_of(random, "class-", 2);
  if (random() % 4 != 0) {
    storage.node_topology = term_of(random).match_expressions;
  }
  return storage;
}

// What each node is led to, at least what it can use; and what names a claim.
void expect_found(const VolumeIndex& index, const Facts& facts, const Topology& topology,
                  const ReferredObjects& objects) {
  for (std::uint32_t row = 0; row < facts.nodes.size(); ++row) {
    if (facts.nodes[row].node == nullptr) continue;
    const KeptNode& node = *facts.nodes[row].node;
    std::set<const void*> found;
    for (const char* name : {"class-0", "class-1"}) {
      const VolumeIndex::OfClass* its = index.of_class(name);
      if (its == nullptr) continue;
      const PersistentVolume* smallest = nullptr;
      (void)its->unclaimed.first(topology, row, [&](const auto& object) {
        const PersistentVolume& one = *object.its;
        EXPECT_TRUE(object.asks_for_more || VolumeReach(one).has(node));
        EXPECT_EQ(one.storage_class, name);
        EXPECT_TRUE(one.claim_name.empty());
        EXPECT_EQ(index.reach(one).has(node), VolumeReach(one).has(node));
        found.insert(&one);
        const bool usable = VolumeReach(one).has(node);
        if (usable && (smallest == nullptr || comes_first(one, *smallest))) smallest = &one;
        return false;
      });
      const auto* usable = its->unclaimed.first(
          topology, row, [&](const auto& object) { return index.reach(*object.its).has(node); });
      EXPECT_EQ(usable == nullptr ? nullptr : usable->its, smallest);
      (void)its->storage.first(topology, row, [&](const auto& object) {
        const CsiStorageCapacity& one = *object.its;
        EXPECT_TRUE(object.asks_for_more || selects(one.node_topology, node.whole("").labels));
        EXPECT_EQ(one.storage_class, name);
        found.insert(&one);
        return false;
      });
    }
    for (const auto& [key, object] : objects.of(ReferredKind::kPersistentVolume)) {
      const auto& volume = std::get<PersistentVolume>(*object);
      if (!volume.claim_name.empty()) {
        const auto& meant = index.meant_for("team/" + volume.claim_name);
        EXPECT_EQ(std::count(meant.begin(), meant.end(), &volume), 1) << key;
      } else if (VolumeReach(volume).has(node)) {
        EXPECT_TRUE(found.contains(&volume)) << key;
      }
    }
    for (const auto& [key, object] : objects.of(ReferredKind::kCsiStorageCapacity)) {
      const auto& storage = std::get<CsiStorageCapacity>(*object);
      if (selects(storage.node_topology, node.whole("").labels)) {
        EXPECT_TRUE(found.contains(&storage)) << key;
      }
    }
  }
}

TEST(VolumeIndex, LeadsToAllThatANodeCanUse) {
  std::mt19937 random(11);
  ReferredObjects objects(Profile::kube_scheduler());
  SharedParts parts;
  Facts facts;
  Topology topology(facts);
  facts.nodes.resize(4);
  VolumeIndex index(topology);
  for (int step = 0; step < 3'000; ++step) {
    ReferredObject object = random() % 2 == 0 ? volume_of(random) : storage_of(random);
    const ReferredKind kind = kind_of(object);
    const std::string key = key_of(object);
    const auto after =
        random() % 3 == 0 ? nullptr : std::make_shared<const ReferredObject>(std::move(object));
    const auto before = objects.put(kind, key, after);
    index.change(before.get(), after.get());
    // A node comes, is another one, or goes.
    const auto row = static_cast<std::uint32_t>(random() % facts.nodes.size());
    Node node;
    if (random() % 3 != 0) node.labels.emplace_back(kHost, one_of(random, "h", 4));
    if (random() % 3 != 0) node.labels.emplace_back(kZone, one_of(random, "z", 4));
    auto kept = random() % 4 == 0 ? nullptr : std::make_unique<KeptNode>(node, node.images, parts);
    topology.set_node(row, kept.get());
    facts.nodes[row].node = std::move(kept);
    if (step % 30 == 0) {
      expect_found(index, facts, topology, objects);
      VolumeIndex again(topology);
      again.read(objects);
      EXPECT_EQ(index == again, true);
    }
  }
}

}  // namespace
}  // namespace headroom::volume_index_test
