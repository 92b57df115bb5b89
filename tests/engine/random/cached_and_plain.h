// CachedAndPlain: an engine with its cache and one without, over the same events, forks among them.
// They have to say the same of every pod, of preemption with its bound and without, and to be what
// the facts say after each event; a rollback restores them; and where victims are gone from where
// they were named, the node takes the pod.
#pragma once

#include <optional>
#include <string>

#include "tests/support/draws.h"

namespace headroom {

// What is wrong at last; nullopt: nothing, in so many events at most. From bytes until they are
// used up. Half of all clusters are RandomApplications under profiles of all plugins, mostly with
// ElasticQuotas; the others a RandomCluster.
std::optional<std::string> disagreement(Draws& draws, int events_max);

}  // namespace headroom
