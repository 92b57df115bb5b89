// Access: who may do what.
//
// A principal is who a peer is: "user:1000" on a Unix socket, "tcp" on plain TCP (loopback), and on
// TLS "cert:NAME" for the common name of its certificate and for each of its alternative names
// (DNS, URI, e-mail). A role that has no list is everybody's who may connect; one that has is for
// those in it. Who feeds or decides may look, too. Thread safety: a plain value.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "server/peer.h"

namespace headroom {

struct Access {
  using List = std::optional<std::set<std::string, std::less<>>>;  // nullopt: everybody
  List feeders, deciders, viewers;

  // Of a peer with these principals; empty: it may do nothing.
  Roles roles_of(std::span<const std::string> principals) const;
};

// "user:NAME" becomes "user:ID". kInvalid with what is accepted, or: no such user.
Result<std::string> parse_principal(std::string_view text);
// A user's id, by its name or number.
Result<std::uint32_t> parse_user(std::string_view text);
// The common name first; empty: the certificate has no name that can be used.
std::vector<std::string> principals_of(const X509& certificate);

}  // namespace headroom
