// ApplicationMaker: what of a pod its application is, as far as the profile reads it.
//
// Thread safety: one thread at a time. Cost: key() is O(what the pod says), which every decision
// pays; make() is for pods of a key that is not known.
#pragma once

#include <memory>
#include <string>

#include "engine/applications/application.h"
#include "engine/profile/profile.h"

namespace headroom {

class ApplicationMaker {
 public:
  explicit ApplicationMaker(const Profile& profile);

  // Pods of one application have the same. Valid until the next is asked for.
  const std::string& key(const Pod& pod);
  // The pod's, of that key: all that it says itself, and nothing that follows from other facts.
  std::unique_ptr<Application> make(const Pod& pod, std::string key) const;

 private:
  void describe(Application& application) const;

  const Profile& profile_;
  const bool spreads_, pod_affinity_, soft_affinity_, volumes_, image_locality_;
  std::string key_;  // scratch
};

}  // namespace headroom
