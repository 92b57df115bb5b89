// Peer: a connection, as the service and the tools' echo server see it: who it is, what it may do,
// and how to answer it.
//
// Whoever accepts the connection says who it is (`principal`) and what it may do (`roles`); the
// service enforces that, in one place (service_requests.cpp). Thread safety: the control thread.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// What a connection may do; the wire's Role says which requests each is for.
enum class Role : std::uint8_t { kLook, kDecide, kFeed };
inline constexpr Role kAllRoles[] = {Role::kLook, Role::kDecide, Role::kFeed};

// "look", "decide", "feed".
const char* to_string(Role role);

// Who decides may look, too.
class Roles {
 public:
  Roles() = default;
  Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) add(role);
  }
  static Roles all() { return {Role::kLook, Role::kDecide, Role::kFeed}; }

  void add(Role role) {
    bits_ |= bit(role);
    if (role == Role::kDecide) bits_ |= bit(Role::kLook);
  }
  bool contains(Role role) const { return (bits_ & bit(role)) != 0; }
  bool empty() const { return bits_ == 0; }
  friend bool operator==(Roles, Roles) = default;

 private:
  static std::uint8_t bit(Role role) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(role));
  }
  std::uint8_t bits_ = 0;
};

// Whose reservations a connection makes: connections of one owner renew and undo each other's.
struct Owner {
  std::string principal;  // who the peer is: a user, a certificate's name; "" where nobody asked
  std::string client;     // as it calls itself

  // For people: "user:0/kube-scheduler".
  std::string text() const { return principal.empty() ? client : principal + "/" + client; }
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

class Peer {
 public:
  virtual ~Peer() = default;
  // Queues a finished frame.
  virtual void send(std::span<const std::uint8_t> frame) = 0;
  // The request whose answer took turns is answered: the next frame may come. Not at once: the
  // handler is at work.
  virtual void resume() {}
  // No frame of it is handled any more; it closes when what was queued has been taken.
  virtual void close() = 0;

  bool greeted = false;
  bool feeds = false;         // facts are taken from it
  bool told_to_stop = false;  // a FeedStopped was the answer to its last facts
  std::string name = "?";     // of the client, for logs
  // Who it is, as far as is known: "user:1000", "cert:NAME", "tcp"; before a TLS handshake its
  // address.
  std::string principal;
  Roles roles = Roles::all();  // what it may do
  std::string client_name;     // what its Hello said
  std::string scheduler_name;  // the same: whose profile decides for it; "": the first

  Owner owner() const { return {principal, client_name}; }
};

}  // namespace headroom
