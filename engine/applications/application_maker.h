// ApplicationMaker: what of a pod its application is, as far as the profile reads it.
//
// Thread safety: one thread at a time. Cost: key() is O(what the pod says), which every decision
// pays; make() is for pods of a key that is not known.
#pragma once

#include <memory>
#include <string>

#include "engine/applications/application.h"
#include "engine/applications/read_labels.h"
#include "engine/profile/profile.h"

namespace headroom {

class ApplicationMaker {
 public:
  // Of pods' labels the application has those that are read.
  ApplicationMaker(const Profile& profile, const ReadLabels& read);

  // Pods of one application have the same, while no other label is read. Valid until the next is
  // asked for.
  const std::string& key(const Pod& pod) { return write_key(pod, false); }
  // The same, with all labels.
  const std::string& whole_key(const Pod& pod) { return write_key(pod, true); }
  // The pod's, of that key: all that it says itself, and nothing that follows from other facts.
  std::unique_ptr<Application> make(const Pod& pod, std::string key) const;
  // Its claims and disks alone.
  void read_volumes(const Pod& pod, Application& application) const;

 private:
  const std::string& write_key(const Pod& pod, bool whole);
  void describe(Application& application) const;

  const Profile& profile_;
  const ReadLabels& read_;
  const bool spreads_, pod_affinity_, soft_affinity_, volumes_, image_locality_;
  std::string key_;  // scratch
};

}  // namespace headroom
