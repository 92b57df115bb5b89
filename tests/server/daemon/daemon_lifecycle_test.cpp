// How a headroomd starts, is told to change, is looked at, and stops: sockets and who may use them,
// options, signals, the service manager, logs, metrics.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "schema/limits.h"
#include "server/quota_metrics.h"
#include "server/service/log_limit.h"
#include "tests/support/daemon_harness.h"
#include "tests/support/objects.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A Unix socket at a path, bound and closed with this object; its file stays.
class BoundSocket {
 public:
  BoundSocket(const std::string& path, int type) : socket_(::socket(AF_UNIX, type, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("bind " + path);
    }
  }
  ~BoundSocket() { ::close(socket_); }
  BoundSocket(const BoundSocket&) = delete;
  BoundSocket& operator=(const BoundSocket&) = delete;

  int number() const { return socket_; }
  void listen() { ASSERT_EQ(::listen(socket_, 16), 0); }
  // The next datagram; "" if none comes.
  std::string receive() {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    char text[4096];
    if (::poll(&waiting, 1, static_cast<int>(milliseconds(kPatience).count())) <= 0) return "";
    const ssize_t bytes = ::recv(socket_, text, sizeof(text), 0);
    return bytes <= 0 ? "" : std::string(text, static_cast<std::size_t>(bytes));
  }

 private:
  const int socket_;
};

std::string unix_text(const std::string& path) { return "unix://" + path; }

// headroomd without metrics: those of its neighbours may use the port.
Ended run_quietly(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--metrics", "none"});
  return run_headroomd(arguments);
}

// --- Sockets -----------------------------------------------------------------------------------

TEST(DaemonSockets, AStaleSocketIsReplaced) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroomd-stale"));
  const std::string path = directory.path() + "/stale";
  { const BoundSocket stale(path, SOCK_STREAM); }
  ASSERT_TRUE(std::filesystem::is_socket(path));
  const TestDaemon daemon({.arguments = {"--listen", unix_text(path)}});
  // The test's own socket, on which it is found to be up, comes first.
  ASSERT_TRUE(eventually([&] { return daemon.logged("listening endpoint=" + unix_text(path)); }));
  EXPECT_TRUE(daemon.logged("stale socket replaced"));
  RawSocket peer(must(Endpoint::parse(unix_text(path))));
  peer.greet();
}

TEST(DaemonSockets, ALiveSocketIsLeftAlone) {
  const TestDaemon daemon;
  Bystander bystander(daemon);
  const Ended second = run_quietly({"--listen", daemon.endpoint().text()});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_PRED2(has, second.output, "another server listens there");
  EXPECT_PRED2(has, second.output, daemon.endpoint().path);
  EXPECT_EQ(bystander.noticed(), "");
  RawSocket(daemon.endpoint()).greet();  // the socket's file is still there
}

// Whoever put his own in the place of its socket keeps it.
TEST(DaemonSockets, AnothersSocketIsLeftAlone) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroomd-other"));
  const std::string path = directory.path() + "/socket";
  std::optional<TestDaemon> daemon(std::in_place,
                                   TestDaemon::Options{.arguments = {"--listen", unix_text(path)}});
  ASSERT_TRUE(eventually([&] { return daemon->logged("listening endpoint=" + unix_text(path)); }));
  std::filesystem::remove(path);
  const TestDaemon other({.arguments = {"--listen", unix_text(path)}});
  ASSERT_TRUE(eventually([&] { return other.logged("listening endpoint=" + unix_text(path)); }));
  daemon.reset();
  RawSocket(must(Endpoint::parse(unix_text(path)))).greet();
}

TEST(DaemonSockets, AFileIsLeftAlone) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroomd-file"));
  const std::string path = directory.path() + "/precious";
  write_file(path, "precious");
  const Ended ended = run_quietly({"--listen", unix_text(path)});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_PRED2(has, ended.output, "there is a file that is no socket");
  EXPECT_PRED2(has, ended.output, path);
  EXPECT_EQ(read_file(path), "precious");
}

TEST(DaemonSockets, TheModeIsAsAskedFor) {
  const auto mode_of = [](const TestDaemon& daemon) {
    struct stat status {};
    EXPECT_EQ(::stat(daemon.endpoint().path.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  EXPECT_EQ(mode_of(TestDaemon()), 0600u);
  EXPECT_EQ(mode_of(TestDaemon({.arguments = {"--socket-mode", "0660"}})), 0660u);
  const Ended ended = run_quietly({"--socket-mode", "0999"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_PRED2(has, ended.output, "0999");
}

// What a process of another user meets at the socket.
enum class Welcome { kServed = 0, kClosed = 1, kNoConnection = 2, kNoUser = 3 };
Welcome welcome_of(const Endpoint& endpoint, uid_t user) {
  const pid_t child = ::fork();
  if (child == 0) {
    Welcome welcome = Welcome::kNoUser;
    if (::setgid(user) == 0 && ::setuid(user) == 0) {
      try {
        RawSocket peer(endpoint);
        peer.send(hello_frame("other-user"));
        const wire::Frame* reply = peer.receive();
        welcome = reply != nullptr && reply->body_as_HelloReply() != nullptr ? Welcome::kServed
                                                                             : Welcome::kClosed;
      } catch (const std::exception&) {
        welcome = Welcome::kNoConnection;
      }
    }
    ::_exit(static_cast<int>(welcome));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return static_cast<Welcome>(WEXITSTATUS(status));
}

TEST(DaemonSockets, OnlyAllowedUsersAreServed) {
  if (::geteuid() != 0) GTEST_SKIP() << "to become another user takes root";
  constexpr uid_t kOther = 65534;
  const auto open_to_all = [](const TestDaemon& daemon) {
    std::filesystem::permissions(daemon.directory(), std::filesystem::perms(0755));
  };
  {
    const TestDaemon daemon(
        {.arguments = {"--socket-mode", "0666", "--allow-user", "4711"}, .metrics = true});
    open_to_all(daemon);
    EXPECT_EQ(welcome_of(daemon.endpoint(), kOther), Welcome::kClosed);
    EXPECT_TRUE(daemon.logged("user 65534 is not allowed"));
    EXPECT_EQ(daemon.metric(R"(headroomd_connections_refused_total{reason="user"})"), 1);
    EXPECT_EQ(welcome_of(daemon.endpoint(), 4711), Welcome::kServed);
    daemon.client();  // the daemon's own user
  }
  {
    const TestDaemon daemon({.arguments = {"--socket-mode", "0666"}});
    open_to_all(daemon);
    EXPECT_EQ(welcome_of(daemon.endpoint(), kOther), Welcome::kServed);
  }
  const TestDaemon daemon;
  open_to_all(daemon);
  EXPECT_EQ(welcome_of(daemon.endpoint(), kOther), Welcome::kNoConnection);
}

TEST(DaemonSockets, TcpIsForLoopbackAddresses) {
  const TestDaemon daemon({.arguments = {"--listen", "tcp://127.0.0.1:0"}});
  const Endpoint endpoint = daemon.logged_endpoint("tcp://");
  EXPECT_NE(endpoint.port, 0);
  Client client = must(Client::connect(endpoint));
  // The connection that found the daemon ready may not be gone yet.
  EXPECT_TRUE(eventually([&] { return must(client.stats()).connections == 1; }));

  const Ended ended = run_quietly({"--listen", "tcp://0.0.0.0:0"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_PRED2(has, ended.output, "TCP without TLS is for loopback addresses");
  EXPECT_PRED2(has, ended.output, "tcp://0.0.0.0:0");
}

TEST(DaemonSockets, TlsTakesCertificates) {
  const Ended ended = run_quietly({"--listen", "tls://127.0.0.1:0"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_PRED2(has, ended.output, "needs tls-certificate, tls-key and tls-client-ca");
}

// --- The end -----------------------------------------------------------------------------------

constexpr std::uint64_t kUnreadReplies = 30;  // some 8 MB
constexpr std::uint64_t kFirstUnread = 2;     // its id: after the hello's

// Returns when all has been answered, of which the peer has read nothing.
void ask_without_reading(TestDaemon& daemon, RawSocket& peer) {
  const Pod pod = small_pod("one");
  const PodRef ref = pod;
  for (std::uint64_t id = kFirstUnread; id < kFirstUnread + kUnreadReplies; ++id) {
    ASSERT_TRUE(peer.send(evaluate_frame(id, std::span(&ref, 1), {.top_k = 1024})));
  }
  Client client = daemon.client();
  ASSERT_TRUE(eventually([&] { return must(client.stats()).decisions == kUnreadReplies; }));
}

TEST(DaemonSignals, SigtermDeliversPendingReplies) {
  for (const int signal : {SIGTERM, SIGINT}) {
    TestDaemon daemon;
    daemon.feed(many_nodes(1100, 250));
    RawSocket peer(daemon.endpoint());
    peer.greet("patient");
    ASSERT_NO_FATAL_FAILURE(ask_without_reading(daemon, peer));
    daemon.process().signal(signal);
    ASSERT_TRUE(daemon.logged("stopping"));
    for (std::uint64_t id = kFirstUnread; id < kFirstUnread + kUnreadReplies; ++id) {
      const wire::Frame* reply = peer.receive();
      ASSERT_NE(reply, nullptr) << "request " << id;
      ASSERT_EQ(reply->id(), id);
      ASSERT_NE(reply->body_as_Evaluated(), nullptr);
    }
    EXPECT_TRUE(peer.await_close());
    EXPECT_EQ(daemon.process().wait(), 0);
    EXPECT_FALSE(std::filesystem::exists(daemon.endpoint().path));
    EXPECT_TRUE(daemon.logged("stopped"));
  }
}

TEST(DaemonSignals, SigtermDoesNotWaitForEverForOneThatDoesNotRead) {
  TestDaemon daemon;
  daemon.feed(many_nodes(1100, 250));
  RawSocket peer(daemon.endpoint());
  peer.greet("asleep");
  ASSERT_NO_FATAL_FAILURE(ask_without_reading(daemon, peer));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.process().stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(8));
}

// --- A new profile -----------------------------------------------------------------------------

std::string profile_text(const std::string& name, int weight) {
  return fmt::format(
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "profiles:\n"
      "  - schedulerName: {}\n"
      "    plugins:\n"
      "      multiPoint: {{enabled: [{{name: NodeResourcesFit, weight: {}}}]}}\n",
      name, weight);
}

class DaemonReload : public testing::Test {
 protected:
  DaemonReload() : directory_(must(TemporaryDirectory::make("headroomd-profile"))) {
    write_file(profile_, profile_text("first", 1));
    daemon_ =
        std::make_unique<TestDaemon>(TestDaemon::Options{.arguments = {"--profile", profile_}});
  }
  // By the profile of a new connection.
  std::string scheduler_name() { return daemon_->client().greeting().scheduler_name; }
  std::int64_t total(Client& client) {
    const answers::Decision decision = must(client.evaluate(small_pod("one"))).decisions[0];
    EXPECT_EQ(decision.nodes, facts_.size());
    return decision.candidates[0].total;
  }

  const TemporaryDirectory directory_;
  const std::string profile_ = directory_.path() + "/scheduler.yaml";
  const std::vector<Object> facts_ = {small_node("a"), small_node("b")};
  std::unique_ptr<TestDaemon> daemon_;
};

// Another list of profiles, each for its own scheduler.
TEST_F(DaemonReload, SeveralProfiles) {
  const auto feeder = daemon_->feeder(facts_);
  must(feeder->resync());
  must(feeder->barrier());
  const auto connect = [&](const std::string& scheduler) {
    ClientOptions options;
    options.scheduler_name = scheduler;
    return Client::connect(daemon_->endpoint(), options);
  };
  Client unnamed = daemon_->client();
  EXPECT_EQ(must(connect("heavy")).greeting().scheduler_name, "first");  // the only one
  const std::int64_t light = total(unnamed);
  const std::string heavy = profile_text("heavy", 7);
  write_file(profile_, profile_text("light", 1) + heavy.substr(heavy.find("  - schedulerName")));
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(daemon_->logged("why=NewProfile"));
  EXPECT_TRUE(eventually([&] {
    must(feeder->flush());
    return feeder->resyncs() == 2;
  }));
  must(feeder->barrier());
  Client second = must(connect("heavy"));
  EXPECT_EQ(second.greeting().scheduler_name, "heavy");
  EXPECT_EQ(must(connect("light")).greeting().scheduler_name, "light");
  EXPECT_EQ(scheduler_name(), "light");
  EXPECT_EQ(total(unnamed), light);
  EXPECT_GT(total(second), light);
  const auto other = connect("first");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(other.error().message,
            "scheduler_name: \"first\" has no profile here; served: light, heavy");
  // A reservation of one is counted by the other.
  const std::int64_t before = total(unnamed);
  must(second.reserve(small_pod("reserved"), "a"));
  must(second.reserve(small_pod("reserved-too"), "b"));
  EXPECT_NE(total(unnamed), before);
  EXPECT_TRUE(must(feeder->barrier(true, true)).invalid.empty());
}

TEST_F(DaemonReload, ANewProfileHoldsFromTheFeedersResyncOn) {
  const auto feeder = daemon_->feeder(facts_);
  must(feeder->resync());
  must(feeder->barrier());
  Client client = daemon_->client();
  const Pod reserved = small_pod("reserved");
  must(client.reserve(reserved, "a"));
  const std::int64_t first = total(client);
  EXPECT_EQ(scheduler_name(), "first");

  write_file(profile_, profile_text("second", 7));
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(daemon_->logged("why=NewProfile"));
  // Until then decisions go on by the old one.
  EXPECT_EQ(total(client), first);
  EXPECT_EQ(scheduler_name(), "first");
  EXPECT_TRUE(eventually([&] {
    must(feeder->flush());
    return feeder->resyncs() == 2;
  }));
  EXPECT_TRUE(must(feeder->barrier()).ready);
  EXPECT_EQ(scheduler_name(), "second");
  EXPECT_GT(total(client), first);
  EXPECT_EQ(must(client.stats()).reserved_pods, 1u);
}

TEST_F(DaemonReload, WithoutAFeederItWaitsForOne) {
  daemon_->feed(facts_);
  Client client = daemon_->client();
  ASSERT_TRUE(daemon_->logged("feeder disconnected"));
  write_file(profile_, profile_text("second", 7));
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(daemon_->logged("the new profile waits for a feeder's resync"));
  const std::int64_t first = total(client);
  daemon_->feed(facts_);
  EXPECT_EQ(scheduler_name(), "second");
  EXPECT_GT(total(client), first);
}

// Of certificates, say.
TEST_F(DaemonReload, AnUnchangedProfileAsksForNoResync) {
  const auto feeder = daemon_->feeder(facts_);
  must(feeder->resync());
  must(feeder->barrier());
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(daemon_->logged("profile unchanged"));
  must(feeder->upsert(small_pod("bound", "100m", "a")));
  must(feeder->barrier());
  EXPECT_EQ(feeder->resyncs(), 1u);
}

TEST_F(DaemonReload, AnEmptyProfileKeepsTheOldOne) {
  write_file(profile_, "\n");
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(
      daemon_->logged("there is no KubeSchedulerConfiguration and no HeadroomConfiguration in it"))
      << daemon_->log();
  EXPECT_EQ(scheduler_name(), "first");
}

TEST_F(DaemonReload, WithoutFactsItHoldsAtOnce) {
  write_file(profile_, profile_text("second", 7));
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(daemon_->logged("profile changed"));
  EXPECT_EQ(scheduler_name(), "second");
}

TEST_F(DaemonReload, ABrokenProfileKeepsTheOldOne) {
  const auto feeder = daemon_->feeder(facts_);
  must(feeder->resync());
  must(feeder->barrier());
  Client client = daemon_->client();
  const std::int64_t first = total(client);
  write_file(profile_, profile_text("second", 7) + "    plugin: {}\n");
  daemon_->process().signal(SIGHUP);
  ASSERT_TRUE(daemon_->logged("reload failed, the old one stays"));
  EXPECT_PRED2(has, daemon_->log(), profile_ + ":7");  // the file and the line
  must(feeder->upsert(small_pod("bound", "100m", "a")));
  must(feeder->barrier());
  EXPECT_EQ(feeder->resyncs(), 1u);  // it was not asked for another
  EXPECT_EQ(scheduler_name(), "first");
  // The pod turns the balance by a point or two, a weight of 7 by hundreds.
  EXPECT_LE(total(client), first + 10);

  std::filesystem::remove(profile_);
  const std::size_t lines = daemon_->log_lines();
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return daemon_->log_lines() >= lines + 2; }));
  EXPECT_EQ(scheduler_name(), "first");
}

// --- The service manager -----------------------------------------------------------------------

TEST(DaemonServiceManager, IsToldWhatHappens) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroomd-notify"));
  const std::string path = directory.path() + "/notify";
  BoundSocket manager(path, SOCK_DGRAM);
  TestDaemon daemon({.shell = "export NOTIFY_SOCKET=" + shell_word(path)});
  EXPECT_PRED2(has, manager.receive(), "READY=1");
  daemon.process().signal(SIGHUP);
  EXPECT_PRED2(has, manager.receive(), "RELOADING=1");
  EXPECT_PRED2(has, manager.receive(), "READY=1");
  daemon.process().signal(SIGTERM);
  EXPECT_PRED2(has, manager.receive(), "STOPPING=1");
  EXPECT_EQ(daemon.process().wait(), 0);
}

// A shell gives headroomd descriptor 3, as a service manager does. $$ is its own process, which
// headroomd becomes.
std::string activation(int descriptor) {
  return fmt::format("exec 3<&{}; export LISTEN_FDS=1 LISTEN_PID=$$", descriptor);
}

TEST(DaemonServiceManager, GivesASocket) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("headroomd-activated"));
  const std::string path = directory.path() + "/activated";
  BoundSocket manager(path, SOCK_STREAM);
  manager.listen();
  ASSERT_LT(manager.number(), 10);  // the shell's redirections know one digit
  const Endpoint endpoint = must(Endpoint::parse(unix_text(path)));
  // What the configuration names is not listened on then.
  const std::string unused = directory.path() + "/unused";
  {
    TestDaemon daemon({.arguments = {"--listen", unix_text(unused)},
                       .shell = activation(manager.number()),
                       .listen = false,
                       .activated = endpoint});
    Client client = daemon.client();
    EXPECT_EQ(must(client.stats()).nodes, 0u);
    EXPECT_FALSE(std::filesystem::exists(unused));
    EXPECT_EQ(daemon.process().stop(), 0);
  }
  EXPECT_TRUE(std::filesystem::is_socket(path));  // it is the manager's
  // The next one takes it over, with the connections that came meanwhile.
  RawSocket early(endpoint);
  early.send(hello_frame("early"));
  const TestDaemon daemon(
      {.shell = activation(manager.number()), .listen = false, .activated = endpoint});
  const wire::Frame* reply = early.receive();
  ASSERT_NE(reply, nullptr);
  EXPECT_NE(reply->body_as_HelloReply(), nullptr);
}

// One below the options: who is in a list has the role, a role without a list is everybody's.
TEST(DaemonRoles, AreByUserOnUnixSocketsAndOneForAllOfTcp) {
  const TestDaemon daemon(
      {.arguments = {"--listen", "tcp://127.0.0.1:0", "--feeder",
                     fmt::format("user:{}", ::geteuid()), "--decider", "user:4711"}});
  daemon.feed({small_node("a")});
  Client user = daemon.client();
  const Pod pod = small_pod("one");
  must(user.evaluate(pod));
  const auto reserved = user.reserve(pod, "a");
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().code, ErrorCode::kForbidden) << reserved.error().message;
  Client tcp = must(Client::connect(daemon.logged_endpoint("tcp://")));
  must(tcp.evaluate(pod));
  EXPECT_FALSE(tcp.reserve(pod, "a"));
  RawSocket feeder(daemon.logged_endpoint("tcp://"));
  feeder.greet();
  feeder.send(feed_begin_frame(2));
  const wire::Frame* answer = feeder.receive();
  ASSERT_NE(answer, nullptr);
  ASSERT_NE(answer->body_as_Error(), nullptr);
  EXPECT_EQ(answer->body_as_Error()->code(), wire::ErrorCode::Forbidden);
  EXPECT_EQ(must(user.stats()).nodes, 1u);
}

TEST(DaemonServiceManager, GivesWhatIsNoListeningSocket) {
  const std::string script = fmt::format(
      "exec 3</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec {} --metrics none", HEADROOMD_PATH);
  const Ended ended = run_command("timeout 20 sh -c " + shell_word(script));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_PRED2(has, ended.output, "not a listening stream socket");
}

// --- Options -----------------------------------------------------------------------------------

class DaemonOptionsFile : public testing::Test {
 protected:
  // What a headroomd says that is to exit with 2.
  std::string mistake(const std::string& yaml, std::vector<std::string> more = {}) {
    write_file(file_, yaml);
    more.insert(more.begin(), {"--config", file_});
    const Ended ended = run_headroomd(more);
    EXPECT_EQ(ended.exit_code, 2) << yaml << ended.output;
    return ended.output;
  }

  const TemporaryDirectory directory_ = must(TemporaryDirectory::make("headroomd-config"));
  const std::string file_ = directory_.path() + "/headroomd.yaml";
};

TEST_F(DaemonOptionsFile, IsReadAndFlagsWin) {
  const std::string unused = directory_.path() + "/unused", used = directory_.path() + "/used";
  write_file(file_, fmt::format("# a comment\n"
                                "listen: [\"{}\"]\n"
                                "socket-mode: \"0640\"\n"
                                "log-format: json\n"
                                "log-level: debug\n"
                                "threads: 1\n",
                                unix_text(used)));
  {
    const TestDaemon daemon({.arguments = {"--config", file_, "--log-format", "text"},
                             .listen = false,
                             .activated = must(Endpoint::parse(unix_text(used)))});
    EXPECT_TRUE(daemon.logged("listening endpoint=" + unix_text(used)));  // text
    struct stat status {};
    ASSERT_EQ(::stat(used.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
    daemon.client("seen-at-debug");
    EXPECT_TRUE(daemon.logged("seen-at-debug"));
  }
  const TestDaemon daemon({.arguments = {"--config", file_, "--log-format", "text"}});
  EXPECT_TRUE(daemon.logged("listening endpoint=" + daemon.endpoint().text()));
  EXPECT_FALSE(std::filesystem::exists(used));
}

TEST_F(DaemonOptionsFile, UnknownKeysAreNamedWithTheirLine) {
  const std::string said = mistake("metrics: none\nlistne: unix:///x\n");
  EXPECT_PRED2(has, said, "line 2");
  EXPECT_PRED2(has, said, "listne");
}

TEST_F(DaemonOptionsFile, WrongTypesAreNamedWithTheirLine) {
  for (const std::string value : {"{a: b}", "[[1], 2]"}) {
    const std::string said = mistake("metrics: none\n\nthreads: " + value + "\n");
    EXPECT_PRED2(has, said, "line 3");
    EXPECT_PRED2(has, said, "threads");
  }
}

TEST_F(DaemonOptionsFile, ValuesThatCannotBeReadAreNamed) {
  for (const std::string value : {"many", "1.5", "", "[1, 2]", "99999999999"}) {
    EXPECT_PRED2(has, mistake("metrics: none\n\nthreads: " + value + "\n"), "threads") << value;
  }
}

TEST_F(DaemonOptionsFile, PrincipalsThatAreNoneAreNamed) {
  for (const std::string principal : {"root", "user:", "user:no-such-user", "cert:", "uid:0"}) {
    const std::string said = mistake(fmt::format("metrics: none\nfeeder: [\"{}\"]\n", principal));
    EXPECT_PRED2(has, said, "--feeder");
    EXPECT_PRED2(has, said, principal == "user:no-such-user" ? "no such user" : "are accepted");
  }
}

TEST_F(DaemonOptionsFile, ValuesOutOfRangeAreNamed) {
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"threads", "1025"},
                                                        {"threads", "-1"},
                                                        {"busy-poll-us", "10001"},
                                                        {"cache-mib", "0"},
                                                        {"socket-mode", "\"0778\""},
                                                        {"socket-mode", "\"01000\""},
                                                        {"listen", "http://127.0.0.1:1"},
                                                        {"capacity-quota-alias", "gpu"},
                                                        {"capacity-quota-alias", "=gpu"},
                                                        {"capacity-quota-alias", "gpu="},
                                                        {"capacity-quota-alias", "[a=b, a=c]"},
                                                        {"metrics", "127.0.0.1"},
                                                        {"metrics", "127.0.0.1:65536"},
                                                        {"allow-user", "no-such-user-here"}}) {
    const std::string said = mistake(option + ": " + value + "\n");
    EXPECT_PRED2(has, said, option) << value;
  }
}

// The line of a value as of an unknown key.
TEST_F(DaemonOptionsFile, ValuesThatCannotBeUsedAreNamedWithTheirLine) {
  for (const std::string entry : {"threads: many", "threads: 1025", "socket-mode: \"0778\""}) {
    EXPECT_PRED2(has, mistake("metrics: none\n\n" + entry + "\n"), "line 3");
  }
}

TEST_F(DaemonOptionsFile, WhatIsNoMapOrNoYamlIsRefused) {
  EXPECT_PRED2(has, mistake("- listen\n"), "not a map");
  EXPECT_PRED2(has, mistake("listen: [\n"), "line ");
  EXPECT_PRED2(has, mistake("[a]: b\n"), "--config");
  // An access list whose second half nobody reads.
  EXPECT_PRED2(has, mistake("feeder: ['user:1']\nthreads: 1\nfeeder: ['user:2']\n"),
               "line 3: \"feeder\" stands in line 1 already");
  const Ended ended = run_headroomd({"--config", directory_.path() + "/absent.yaml"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_PRED2(has, ended.output, "absent.yaml");
}

TEST_F(DaemonOptionsFile, LogOptionsAreOptionsToo) {
  for (const std::string flag : {"--log-level", "--log-format"}) {
    const Ended ended = run_quietly({flag, "loud"});
    EXPECT_EQ(ended.exit_code, 2) << "\"2 the command line ... cannot be used\"";
    EXPECT_PRED2(has, ended.output, "loud");
    EXPECT_PRED2(has, ended.output, flag.substr(2));
  }
}

// --- Logs --------------------------------------------------------------------------------------

TEST(DaemonLog, IsJsonLineByLine) {
  TestDaemon daemon({.arguments = {"--log-format", "json", "--log-level", "debug"}});
  daemon.feed({small_node("a")});
  RawSocket odd(daemon.endpoint());
  odd.greet("a \"name\"\n{of} \xFF\x01 several\\lines");
  Bytes noise = stats_frame(2);
  std::fill(noise.begin() + 4, noise.end(), std::uint8_t{0xEE});
  odd.send(noise);
  EXPECT_TRUE(odd.await_close());
  EXPECT_TRUE(daemon.logged("frame rejected"));
  daemon.process().signal(SIGHUP);
  EXPECT_TRUE(daemon.logged("reloading"));
  EXPECT_EQ(daemon.process().stop(), 0);

  std::istringstream lines(daemon.log());
  std::size_t count = 0;
  bool stopped = false, quoted = false;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(entry.is_object()) << line;
    for (const char* field : {"time", "level", "message"}) {
      ASSERT_TRUE(entry.contains(field) && entry[field].is_string()) << line;
    }
    stopped = stopped || entry["message"] == "stopped";
    quoted = quoted || (entry["message"] == "frame rejected" &&
                        has(entry["client"].get<std::string>(), "a \"name\"\n{of} "));
  }
  EXPECT_GE(count, 8u);
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(quoted) << daemon.log();
}

TEST(DaemonLog, HasNoLinePerRequest) {
  const TestDaemon daemon;
  daemon.feed({small_node("a")});
  ASSERT_TRUE(daemon.logged("feeder disconnected"));
  const std::size_t before = daemon.log_lines();
  Client client = daemon.client();
  const Pod pod = small_pod("one");
  for (int r = 0; r < 1000; ++r) must(client.evaluate(pod));
  for (int r = 0; r < 100; ++r) {
    EXPECT_FALSE(client.evaluate(PodRef::by_uid("nobody")));
    must(client.reserve(pod, "a"));
    must(client.unreserve(pod, "a"));
  }
  EXPECT_LE(daemon.log_lines(), before + 5);
}

// A second of one warning: all that may be written, and then how many were left out.
TEST(DaemonLog, WarningsOfPeersHaveALimit) {
  std::vector<std::string> lines;
  LogLimit::Clock::time_point now{};
  LogLimit limit(
      [&](LogLevel, const char* what, LogFields fields) {
        std::string line = what;
        for (const auto& [name, value] : fields) line += fmt::format(" {}={}", name, value);
        lines.push_back(line);
      },
      [&] { return now; });
  now += std::chrono::hours(1);
  for (std::uint32_t n = 0; n < kWarningsPerSecondMax + 7; ++n) {
    limit.write(LogLevel::kWarning, "frame rejected", {{"n", fmt::to_string(n)}});
    limit.write(LogLevel::kError, "an error", {});  // has none
  }
  limit.write(LogLevel::kWarning, "another", {});
  EXPECT_EQ(lines.size(), 2 * kWarningsPerSecondMax + 7 + 1);
  limit.tick();
  EXPECT_EQ(lines.back(), "another");
  now += std::chrono::seconds(1);
  limit.tick();
  EXPECT_EQ(lines.back(),
            "warnings left out warning=frame rejected count=7 kWarningsPerSecondMax=20");
  const std::size_t told = lines.size();
  limit.tick();
  EXPECT_EQ(lines.size(), told);
  limit.write(LogLevel::kWarning, "frame rejected", {});
  EXPECT_EQ(lines.back(), "frame rejected");
}

TEST(DaemonLog, HasFewLinesOfAPeerThatIsRefusedOftenAndForAll) {
  const TestDaemon daemon;
  constexpr int kRefused = 400;
  Bytes noise = stats_frame(2);
  std::fill(noise.begin() + 4, noise.end(), std::uint8_t{0xEE});
  const auto start = std::chrono::steady_clock::now();
  for (int r = 0; r < kRefused; ++r) {
    RawSocket peer(daemon.endpoint());
    peer.send(noise);
    EXPECT_TRUE(peer.await_close());
  }
  EXPECT_TRUE(daemon.logged("warnings left out"));
  // As many seconds as it took, and those begun.
  const auto took =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start)
          .count() +
      2;
  EXPECT_LE(daemon.log_lines(), static_cast<std::size_t>(took) * (kWarningsPerSecondMax + 1) + 20);
}

// --- Metrics -----------------------------------------------------------------------------------

TEST(DaemonMetrics, ReadyAfterTheFirstResync) {
  const TestDaemon daemon({.metrics = true});
  EXPECT_EQ(daemon.get("/healthz").status, 200);
  EXPECT_EQ(daemon.get("/readyz").status, 503);
  EXPECT_EQ(daemon.metric("headroomd_ready"), 0);
  EXPECT_EQ(daemon.get("/nothing").status, 404);
  daemon.feed({small_node("a")});
  EXPECT_EQ(daemon.get("/readyz").status, 200);
  EXPECT_EQ(daemon.get("/healthz").status, 200);
  EXPECT_EQ(daemon.metric("headroomd_ready"), 1);
  EXPECT_EQ(daemon.metric("headroomd_nodes"), 1);
  EXPECT_EQ(daemon.metric(R"(headroomd_resyncs_total{result="completed"})"), 1);
}

TEST(DaemonMetrics, CountWhatHappened) {
  const TestDaemon daemon({.metrics = true});
  daemon.feed({small_node("a")});
  Client client = daemon.client();
  const Pod pod = small_pod("one"), giant = small_pod("giant", "1000");
  for (int r = 0; r < 5; ++r) must(client.evaluate(pod));
  must(client.evaluate(giant));
  EXPECT_FALSE(client.evaluate(PodRef::by_uid("nobody")));
  EXPECT_EQ(daemon.metric(R"(headroomd_decisions_total{result="Success"})"), 5);
  EXPECT_EQ(daemon.metric(R"(headroomd_decisions_total{result="Unschedulable"})"), 1);
  EXPECT_EQ(daemon.metric(R"(headroomd_request_errors_total{code="NotFound"})"), 1);
  EXPECT_EQ(daemon.metric(R"(headroomd_request_duration_seconds_count{request="evaluate"})"), 7);
  EXPECT_EQ(daemon.metric(R"(headroomd_facts_total{result="applied"})"), 1);
  // Gauges are set once a second.
  EXPECT_TRUE(eventually([&] {
    return daemon.metric("headroomd_connections") == 1 &&
           daemon.metric("headroomd_feeder_connected") == 0;
  }));
}

TEST(DaemonMetrics, RejectedFramesAreCounted) {
  const TestDaemon daemon({.metrics = true});
  const auto rejected = [&](const std::string& reason) {
    return daemon.metric(fmt::format("headroomd_frames_rejected_total{{reason=\"{}\"}}", reason));
  };
  for (const char* reason :
       {"malformed", "oversized", "unexpected", "out_of_order", "slow_reader"}) {
    EXPECT_EQ(rejected(reason), 0) << reason;
  }
  daemon.feed(many_nodes(1100, 250));
  Bytes noise = stats_frame(2);
  std::fill(noise.begin() + 4, noise.end(), std::uint8_t{0xEE});
  for (int n = 0; n < 3; ++n) {
    RawSocket peer(daemon.endpoint());
    peer.greet();
    peer.send(noise);
    EXPECT_TRUE(peer.await_close());
  }
  {
    RawSocket peer(daemon.endpoint());
    peer.send(std::string_view("GET / HTTP/1.1\r\n"));  // as a length: far too many bytes
    EXPECT_TRUE(peer.await_close());
  }
  {
    RawSocket peer(daemon.endpoint());
    peer.greet();
    peer.send(facts_frame(2, 1, {small_node("b")}));
    EXPECT_NE(peer.receive(), nullptr);
  }
  {
    const Pod pod = small_pod("one");
    const PodRef ref = pod;
    RawSocket peer(daemon.endpoint());
    peer.greet();
    for (std::uint64_t id = 2; id < 1000; ++id) {
      if (!peer.send(evaluate_frame(id, std::span(&ref, 1), {.top_k = 1024}))) break;
    }
    EXPECT_TRUE(eventually([&] { return rejected("slow_reader") == 1; }));
  }
  EXPECT_EQ(rejected("malformed"), 3);
  EXPECT_EQ(rejected("oversized"), 1);
  EXPECT_EQ(rejected("out_of_order"), 1);
  EXPECT_EQ(rejected("unexpected"), 0);
}

// An ElasticQuota of cpu, and one for each of so many other namespaces.
std::vector<Object> elastic_quotas(std::size_t others) {
  ElasticQuota quota = elastic_quota("red", millicores(1500), cores(4));
  std::vector<Object> objects = {quota};
  for (std::size_t n = 0; n < others; ++n) {
    quota.namespace_name = fmt::format("team-{:04}", n);
    objects.emplace_back(quota);
  }
  return objects;
}

CapacityQuota quota_of_all() { return capacity_quota("all", {{"cpu", "10"}, {"nodes", "2"}}); }

TEST(DaemonMetrics, TellOfEachQuota) {
  const TestDaemon daemon({.metrics = true});
  Node node = small_node("a", "8");
  node.capacity = node.allocatable;
  Pod pod = small_pod("one", "2", "a");
  pod.namespace_name = "red";
  std::vector<Object> objects = elastic_quotas(0);
  objects.insert(objects.end(), {node, pod, quota_of_all()});
  daemon.feed(objects);
  const auto elastic = [&](const char* what) {
    return daemon.metric(fmt::format(
        R"(headroomd_elastic_quota_{}{{namespace="red",quota="quota",resource="cpu"}})", what));
  };
  EXPECT_TRUE(eventually([&] { return elastic("used") == 2; }));
  EXPECT_EQ(elastic("min"), 1.5);
  EXPECT_EQ(elastic("max"), 4);
  const auto capacity = [&](const char* what, const char* resource) {
    return daemon.metric(
        fmt::format(R"(headroomd_capacity_quota_{}{{quota="CapacityQuota/all",resource="{}"}})",
                    what, resource));
  };
  EXPECT_EQ(capacity("used", "cpu"), 8);
  EXPECT_EQ(capacity("limit", "cpu"), 10);
  EXPECT_EQ(capacity("used", "nodes"), 1);
  EXPECT_EQ(capacity("reserved", "nodes"), 0);

  // They go with their quotas.
  daemon.feed({node});
  EXPECT_TRUE(eventually([&] {
    return daemon.get("/metrics").body.find("headroomd_elastic_quota_used") == std::string::npos;
  }));
}

TEST(DaemonMetrics, TellOfSoManyQuotasAtMost) {
  const TestDaemon daemon({.metrics = true});
  daemon.feed(elastic_quotas(kQuotasInMetricsMax));
  const double all = kQuotasInMetricsMax + 1;
  EXPECT_TRUE(eventually([&] { return daemon.metric("headroomd_elastic_quotas") == all; }));
  EXPECT_TRUE(eventually([&] {
    const std::string text = daemon.get("/metrics").body;
    const std::string series = "headroomd_elastic_quota_used{";
    std::size_t count = 0;
    for (std::size_t at = text.find(series); at != std::string::npos;
         at = text.find(series, at + 1)) {
      ++count;
    }
    return count == kQuotasInMetricsMax;
  }));
}

TEST(DaemonMetrics, TellOfTheProgramAndItsProcess) {
  const double before = static_cast<double>(std::time(nullptr));
  const TestDaemon daemon({.metrics = true});
  // "headroomd 0.1.0\n"
  const std::string version = run_command(std::string(HEADROOMD_PATH) + " --version").output;
  ASSERT_TRUE(version.starts_with("headroomd ") && version.ends_with('\n')) << version;
  EXPECT_EQ(daemon.metric(fmt::format(R"(headroomd_build_info{{protocol="{}",version="{}"}})",
                                      kProtocolVersion, version.substr(10, version.size() - 11))),
            1);
  EXPECT_GT(daemon.metric("process_cpu_seconds_total"), 0);
  EXPECT_GT(daemon.metric("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(daemon.metric("process_open_fds"), 5);  // three, and two that are listened on
  EXPECT_GE(daemon.metric("process_max_fds"), daemon.metric("process_open_fds"));
  EXPECT_NEAR(daemon.metric("process_start_time_seconds"), before, 60);
}

TEST(DaemonMetrics, DashboardAndAlertsKnowThem) {
  if (run_command("python3 --version").exit_code != 0) GTEST_SKIP() << "python3 is not there";
  const TestDaemon daemon({.metrics = true});
  std::vector<Object> objects = elastic_quotas(0);
  objects.emplace_back(quota_of_all());
  daemon.feed(objects);
  EXPECT_TRUE(eventually([&] { return daemon.metric("headroomd_elastic_quotas") == 1; }));
  const std::string text = daemon.path("metrics.txt");
  write_file(text, daemon.get("/metrics").body);
  const std::string source = HEADROOM_SOURCE_DIR;
  const Ended ended = run_command(
      fmt::format("python3 {} {} {}", shell_word(source + "/tests/server/metrics_names_test.py"),
                  shell_word(source), shell_word(text)));
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
}

}  // namespace
}  // namespace headroom
