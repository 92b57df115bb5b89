#include "server/peer.h"

namespace headroom {

const char* to_string(Role role) {
  switch (role) {
    case Role::kLook:
      return "look";
    case Role::kDecide:
      return "decide";
    case Role::kFeed:
      return "feed";
  }
  return "";
}

}  // namespace headroom
