// Random clusters of applications, for the default plugins: objects, events and pods as JSON.
//
// Small on purpose, as tests/engine/random/random_cluster.h is: few names and values, so that
// selectors hit, domains tie and claims meet their volumes. Applications are what real ones are: a
// controller, perhaps a Service, pods of one template with spread, affinity, images, ports and
// claims. All is as the API server would let it pass. The same seed or bytes give the same cluster
// and events.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/draws.h"

namespace headroom {

class RandomApplications {
 public:
  // Draws the applications. The draws must outlive it.
  explicit RandomApplications(Draws& draws);

  // What the cluster starts with: namespaces, nodes with CSINodes, storage, controllers, services
  // and some pods.
  std::vector<nlohmann::json> objects();
  // The next event, in the form of a conformance step: apply, delete, reserve, unreserve.
  nlohmann::json event();
  // A new pod of one of the applications, that waits.
  nlohmann::json pod_to_place();
  // The same, for a node that it was promised.
  nlohmann::json nominated_pod();

 private:
  using Json = nlohmann::json;

  struct Application {
    std::string name, space, owner;  // owner: a kind, "" for pods of nobody
    Json labels, spec;
    bool has_service = false, has_volumes = false;
  };

  Application application(int number);
  Json object(const std::string& kind, const std::string& name, const std::string& space);
  Json node(const std::string& name);
  Json images();
  Json node_with_other_images();
  Json csi_node(const std::string& name);
  Json csi_driver(const std::string& name);
  Json name_space(const std::string& name);
  Json storage_class(const std::string& name);
  Json claim(const std::string& name, const std::string& space);
  Json claim_of_pod(const Json& pod);
  Json persistent_volume(const std::string& name);
  Json storage_capacity(const std::string& zone);
  Json controller(const Application& application);
  Json service(const Application& application);
  Json disruption_budget(const Application& application);
  Json pod(const Application& application, int number);
  Json placed_pod();
  Json changed_object();
  Json removed_storage();
  Json removed_object();

  Json selector(const Json& labels);
  Json requirement();
  Json node_term();
  Json spread_constraints(const Json& labels);
  Json affinity_term(const Json& labels);
  Json affinity(const Json& labels);
  Json spec(const Json& labels);
  void report_resize(Json& status);
  Json volumes();
  std::string node_name();
  std::string topology_key();
  const Application& any_application() { return draws_.pick(applications_); }

  Draws& draws_;
  std::vector<Application> applications_;
  std::map<std::string, Json> nodes_;  // as said last
  int pods_ = 0;                       // made so far
  std::vector<Json> placed_;           // pods that events know
  std::vector<Json> reserved_;         // {pod, node} that may be taken back
};

}  // namespace headroom
