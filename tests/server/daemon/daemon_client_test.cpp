// The C++ client beside a headroomd that is silent, that does not take connections, that has let
// the connection go, and that speaks another version.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout(300);

ClientOptions impatient() {
  ClientOptions options;
  options.socket.timeout = kTimeout;
  return options;
}

TEST(DaemonClient, DoesNotWaitForeverForAServerThatIsSilent) {
  TestDaemon daemon;
  daemon.feed({small_node("a")});
  Client client = must(Client::connect(daemon.endpoint(), impatient()));
  must(client.stats());
  daemon.process().signal(SIGSTOP);
  const auto stats = client.stats();
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, ErrorCode::kIo);
  EXPECT_PRED2(has, stats.error().message, "no answer within 300 ms");
  EXPECT_FALSE(client.connected());
  // What changes something is not asked twice.
  const auto reserved = client.reserve(small_pod("one"), "a");
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().code, ErrorCode::kIo);
  daemon.process().signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return client.stats().has_value(); }));
}

sockaddr_un address_of(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  endpoint.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

TEST(DaemonClient, DoesNotWaitForeverForAConnection) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroom-client"));
  const Endpoint endpoint = must(Endpoint::parse("unix://" + directory.path() + "/s"));
  const sockaddr_un address = address_of(endpoint);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(server, at, sizeof(address)), 0);
  ASSERT_EQ(::listen(server, 0), 0);
  std::vector<int> waiting;  // until there is no room for more
  do {
    waiting.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (::connect(waiting.back(), at, sizeof(address)) == 0 && waiting.size() < 1000);
  const auto client = Client::connect(endpoint, impatient());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kIo);
  EXPECT_PRED2(has, client.error().message, "no answer within 300 ms");
  for (const int socket : waiting) ::close(socket);
  ::close(server);
}

TEST(DaemonClient, TakesNoVersionThatItDidNotOffer) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroom-client"));
  const Endpoint endpoint = must(Endpoint::parse("unix://" + directory.path() + "/s"));
  const sockaddr_un address = address_of(endpoint);
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  std::thread answers([server] {
    const int peer = ::accept(server, nullptr, nullptr);
    std::array<char, 1024> hello;
    EXPECT_GT(::read(peer, hello.data(), hello.size()), 0);
    const Bytes reply = make_frame(1, [](Builder& builder) {
      wire::HelloReplyBuilder other(builder);
      other.add_version(kProtocolVersion + 1);
      return other.Finish();
    });
    EXPECT_EQ(::write(peer, reply.data(), reply.size()), static_cast<ssize_t>(reply.size()));
    ::close(peer);
  });
  const auto client = Client::connect(endpoint, impatient());
  answers.join();
  ::close(server);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(client.error().message, "version: the server chose 2; 1 was offered");
}

// A reservation is asked once: it must not be sent into a connection that is gone already.
TEST(DaemonClient, NoticesThatItsConnectionWasLetGo) {
  TestDaemon daemon;
  daemon.feed({small_node("a")});
  Client client = daemon.client();
  EXPECT_EQ(daemon.process().stop(), 0);
  daemon.start_again();
  daemon.feed({small_node("a")});
  std::this_thread::sleep_for(milliseconds(1100));  // what makes it look
  const auto reserved = client.reserve(small_pod("one"), "a");
  EXPECT_TRUE(reserved) << reserved.error().message;
}

}  // namespace
}  // namespace headroom
