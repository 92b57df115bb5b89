// Terms of InterPodAffinity and selectors of PodTopologySpread: which pods they mean.
//
// Source: reference default-plugins.md, of kube-scheduler v1.37. Pure functions; a Namespace that
// has no object has no labels.
#pragma once

#include <string>
#include <string_view>

#include "engine/applications/application.h"
#include "engine/applications/peers.h"
#include "engine/kept/referred_objects.h"
#include "engine/profile/profile.h"

namespace headroom {

// An absent selector selects nothing.
bool selects(const std::optional<LabelSelector>& selector, const StringMap& labels);

// Whether a term of the application, a pod that is to be placed, means pods of the peer.
bool own_term_matches(const PodAffinityTerm& term, std::string_view namespace_name,
                      const StringMap& labels, const Application& application,
                      const ReferredObjects& referred, KubernetesVersion version);
// Whether a term of a pod that is on a node means the application's pods.
bool others_term_matches(const PodAffinityTerm& term, const PodPeer& owner,
                         const Application& application, const ReferredObjects& referred);

// The constraints that the pod is placed by: its own with matchLabelKeys, else the defaults of the
// profile, if something selects the pod. `system_defaults` says that they are System's.
std::vector<TopologySpreadConstraint> spread_constraints(const Application& application,
                                                         const PodTopologySpreadArgs& args,
                                                         const ReferredObjects& referred,
                                                         bool& system_defaults);

// Whether a Service or a controller, an object of the application's namespace, has a part in the
// selector of its default constraints.
bool selects_by_default(const ReferredObject& object, const Application& application);

}  // namespace headroom
