// A running headroomd behind mutual TLS: who gets in, who does not and why, and new certificates.
// The certificates are made by the openssl command.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/certificates.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

class DaemonTls : public testing::Test {
 protected:
  DaemonTls() {
    for (const char* authority : {"server-ca", "client-ca", "other-ca"}) {
      certificates_.make_authority(authority);
    }
    certificates_.make("server", "server-ca");
    certificates_.make("client", "client-ca");
    certificates_.make("expired", "client-ca", -1);
    certificates_.make("stranger", "other-ca");
    restart_with({});
    daemon_->feed(many_nodes(1100, 250));
  }

  void restart_with(std::vector<std::string> arguments) {
    const std::vector<std::string> tls = certificates_.server_arguments("client-ca");
    arguments.insert(arguments.end(), tls.begin(), tls.end());
    daemon_ = std::make_unique<TestDaemon>(
        TestDaemon::Options{.arguments = std::move(arguments), .metrics = true});
    endpoint_ = daemon_->logged_endpoint("tls://");
  }

  Result<Client> connect(const std::string& name, const std::string& server_ca = "server-ca",
                         std::chrono::milliseconds timeout = kPatience) {
    ClientOptions options = certificates_.client_options(name, server_ca);
    options.socket.timeout = timeout;
    return Client::connect(endpoint_, options);
  }
  // The openssl command as a client that does not mind who serves.
  Ended s_client(const std::string& arguments) {
    return run_command(fmt::format("timeout 10 openssl s_client -connect {}:{} {}", endpoint_.host,
                                   endpoint_.port, arguments));
  }
  double refused() {
    return daemon_->metric(R"(headroomd_connections_refused_total{reason="tls"})");
  }

  const Certificates certificates_;
  std::unique_ptr<TestDaemon> daemon_;
  Endpoint endpoint_;
};

TEST_F(DaemonTls, ServesAClientOfItsAuthority) {
  Client client = must(connect("client"));
  const Pod pod = small_pod("one");
  EXPECT_EQ(must(client.evaluate(pod)).decisions[0].feasible, 1100u);
  must(client.reserve(pod, std::get<Node>(many_nodes(1, 250)[0]).name));
  EXPECT_EQ(must(daemon_->client().stats()).reserved_pods, 1u);
  EXPECT_EQ(refused(), 0);
}

TEST_F(DaemonTls, RefusesAClientOfAnotherAuthority) {
  EXPECT_FALSE(connect("stranger"));
  EXPECT_TRUE(daemon_->logged("TLS handshake failed"));
  EXPECT_TRUE(daemon_->logged("unable to get local issuer certificate")) << daemon_->log();
  EXPECT_TRUE(eventually([&] { return refused() == 1; }));
  EXPECT_TRUE(connect("client"));
}

TEST_F(DaemonTls, RefusesAnExpiredCertificate) {
  EXPECT_FALSE(connect("expired"));
  EXPECT_TRUE(daemon_->logged("certificate has expired")) << daemon_->log();
  EXPECT_TRUE(eventually([&] { return refused() == 1; }));
}

TEST_F(DaemonTls, RefusesAClientWithoutACertificate) {
  s_client("");
  EXPECT_TRUE(daemon_->logged("peer did not return a certificate")) << daemon_->log();
  EXPECT_TRUE(eventually([&] { return refused() == 1; }));
}

TEST_F(DaemonTls, RefusesAnOldVersion) {
  const std::string mine = fmt::format("-cert {} -key {}", certificates_.certificate("client"),
                                       certificates_.key("client"));
  const Ended old = s_client("-tls1_2 " + mine);
  EXPECT_NE(old.exit_code, 0) << old.output;
  EXPECT_TRUE(daemon_->logged("unsupported protocol")) << daemon_->log();
  EXPECT_EQ(refused(), 1);
  const Ended current = s_client("-tls1_3 " + mine);
  EXPECT_EQ(current.exit_code, 0) << current.output;
  EXPECT_EQ(refused(), 1);
}

TEST_F(DaemonTls, RefusesWhatIsNoTls) {
  Endpoint plain = endpoint_;
  plain.kind = Endpoint::Kind::kTcp;
  RawSocket socket(plain);
  socket.send(hello_frame());
  const std::string reply = socket.receive_text();  // an alert at most
  EXPECT_TRUE(socket.closed());
  EXPECT_EQ(reply.find("HDRM"), std::string::npos);
  EXPECT_TRUE(daemon_->logged("TLS handshake failed"));
}

TEST_F(DaemonTls, AClientRefusesAnotherServer) {
  const auto client = connect("client", "other-ca");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kIo);
}

TEST_F(DaemonTls, AClientDoesNotWaitForeverForAServerThatDoesNotRead) {
  Client client = must(connect("client", "server-ca", std::chrono::milliseconds(1000)));
  daemon_->process().signal(SIGSTOP);
  const Bytes request = padded(stats_frame(2), 4 << 20);
  for (int r = 0; r < 16; ++r) client.queue(request);
  const auto sent = client.flush();
  daemon_->process().signal(SIGCONT);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kIo);
  EXPECT_NE(sent.error().message.find("no answer within"), std::string::npos)
      << sent.error().message;
}

// Replies that wait for a slow peer are as whole through TLS.
TEST_F(DaemonTls, ALateReaderGetsEveryReply) {
  Client client = must(connect("client"));
  const Pod pod = small_pod("one");
  const PodRef ref = pod;
  constexpr int kRequests = 80;
  std::uint64_t first = 0;
  for (int r = 0; r < kRequests; ++r) {
    const std::uint64_t id =
        client.send(encode_evaluate(client.builder(), std::span(&ref, 1), {.top_k = 1024}));
    if (r == 0) first = id;
    if (r % 8 == 7) {
      must(client.flush());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (int r = 0; r < kRequests; ++r) {
    const auto received = client.receive();
    ASSERT_TRUE(received) << r << ": " << received.error().message;
    ASSERT_EQ(received->frame->id(), first + static_cast<std::uint64_t>(r));
    ASSERT_NE(received->frame->body_as_Evaluated(), nullptr);
    const auto* decision = received->frame->body_as_Evaluated()->decisions()->Get(0);
    ASSERT_EQ(decision->node_names()->size(), 1024u);
    ASSERT_EQ(decision->node_names()->Get(1023)->size(), 250u);
  }
}

TEST_F(DaemonTls, NewCertificatesAreForNewConnections) {
  Client old = must(connect("client"));
  const Pod pod = small_pod("one");
  must(old.evaluate(pod));
  // Another authority vouches for the server, in the same files.
  certificates_.make("server", "other-ca");
  EXPECT_TRUE(connect("client"));
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return connect("client", "other-ca").has_value(); }));
  EXPECT_FALSE(connect("client", "server-ca"));
  const std::uint64_t id = old.send(wire::CreateStats(old.builder()));
  must(old.flush());
  const auto received = old.receive();
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(received->frame->id(), id);

  // Files that cannot be used change nothing.
  write_file(certificates_.certificate("server"), "not a certificate");
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(daemon_->logged("reload failed, the old one stays"));
  EXPECT_TRUE(daemon_->logged("tls-certificate")) << daemon_->log();
  EXPECT_TRUE(connect("client", "other-ca"));
}

// Half of a change to keys of another kind: the new certificate beside the old key. Each was taken
// for itself, and no handshake came to its end.
TEST_F(DaemonTls, ACertificateWithoutItsKeyChangesNothing) {
  certificates_.make("another", "server-ca", 2, "-newkey rsa:2048 -nodes");
  std::filesystem::copy_file(certificates_.certificate("another"),
                             certificates_.certificate("server"),
                             std::filesystem::copy_options::overwrite_existing);
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(daemon_->logged("reload failed, the old one stays"));
  EXPECT_TRUE(daemon_->logged("is not the key of tls-certificate")) << daemon_->log();
  EXPECT_TRUE(connect("client"));
}

// Nobody is asked for it.
TEST_F(DaemonTls, AKeyWithAPasswordIsRefused) {
  certificates_.make("server", "server-ca", 2, "-newkey rsa:2048 -passout pass:secret");
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(daemon_->logged("reload failed, the old one stays"));
  EXPECT_TRUE(daemon_->logged("tls-key")) << daemon_->log();
  EXPECT_TRUE(connect("client"));
}

// It failed: "session id context uninitialized". Now there is nothing to resume: every handshake is
// whole, and holds the certificate against today's authority.
TEST_F(DaemonTls, ASessionIsNotResumedAndThatIsNoFailure) {
  const std::string session = daemon_->path("session");
  const std::string mine =
      fmt::format("-cert {} -key {} -CAfile {}", certificates_.certificate("client"),
                  certificates_.key("client"), certificates_.certificate("server-ca"));
  for (const char* version : {"-tls1_3", "-tls1_2"}) {
    if (version == std::string_view("-tls1_2")) restart_with({"--tls-minimum-version", "1.2"});
    const Ended first = s_client(fmt::format("{} {} -sess_out {}", version, mine, session));
    EXPECT_EQ(first.exit_code, 0) << first.output;
    EXPECT_NE(first.output.find("Verify return code: 0"), std::string::npos) << first.output;
    const Ended again = s_client(
        fmt::format("{} {} $(test -s {} && echo -sess_in {})", version, mine, session, session));
    EXPECT_EQ(again.exit_code, 0) << again.output;
    EXPECT_NE(again.output.find("New, TLSv1."), std::string::npos) << again.output;
    EXPECT_EQ(refused(), 0) << daemon_->log();
  }
}

TEST_F(DaemonTls, RolesAreByTheNamesOfTheCertificate) {
  certificates_.make("feeder", "client-ca");
  certificates_.make("viewer", "client-ca");
  certificates_.make("nobody", "client-ca");
  // By common name, by another name of the certificate.
  restart_with({"--feeder", "cert:feeder", "--decider", "cert:client.example", "--decider",
                "user:0", "--viewer", "cert:viewer"});
  const auto may = [&](Client& client) {
    const Pod pod = small_pod("one");
    std::string roles;
    if (client.evaluate(pod)) roles += " look";
    const auto reserved = client.reserve(pod, "no-such-node");
    if (reserved.error().code != ErrorCode::kForbidden) roles += " decide";
    client.send(wire::CreateFeedBegin(client.builder(), 0, kTestNowUs));
    must(client.flush());
    // An error is the answer to the one before, if there is one.
    const auto stats = client.send(wire::CreateStats(client.builder()));
    must(client.flush());
    const auto answer = must(client.receive());
    if (answer.frame->id() == stats) {
      roles += " feed";
    } else {
      EXPECT_EQ(answer.frame->body_as_Error()->code(), wire::ErrorCode::Forbidden);
    }
    return roles;
  };
  for (const auto& [name, roles] : std::vector<std::pair<std::string, std::string>>{
           {"feeder", " look feed"}, {"client", " look decide"}, {"viewer", " look"}}) {
    Client client = must(connect(name));
    EXPECT_EQ(may(client), roles) << name;
  }
  const auto nobody = connect("nobody");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kForbidden) << nobody.error().message;
  EXPECT_NE(nobody.error().message.find("cert:nobody has no role"), std::string::npos);
  EXPECT_EQ(daemon_->metric(R"(headroomd_connections_refused_total{reason="role"})"), 1);
}

TEST_F(DaemonTls, AKeyThatOthersMayReadIsRefused) {
  const std::string key = certificates_.key("server");
  std::filesystem::permissions(key, std::filesystem::perms(0640));
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(daemon_->logged("its mode is 0640")) << daemon_->log();
  EXPECT_TRUE(connect("client"));  // the old one holds
  std::filesystem::permissions(key, std::filesystem::perms(0644));
  const auto run = [&] {
    return run_headroomd({"--metrics", "none", "--listen", "tls://127.0.0.1:0", "--tls-certificate",
                          certificates_.certificate("server"), "--tls-key", key, "--tls-client-ca",
                          certificates_.certificate("client-ca")});
  };
  const Ended open = run();
  EXPECT_EQ(open.exit_code, 1);
  EXPECT_NE(open.output.find(key + ": its mode is 0644"), std::string::npos) << open.output;
  if (::geteuid() != 0) return;  // to give a file away takes root
  ASSERT_EQ(::chown(key.c_str(), 65534, 65534), 0);
  EXPECT_NE(run().output.find("its mode is 0644"), std::string::npos);
  std::filesystem::permissions(key, std::filesystem::perms(0440));
  daemon_->process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return connect("client").has_value(); }));
  EXPECT_EQ(daemon_->log().find("its mode is 0440"), std::string::npos);
}

TEST(DaemonTlsOptions, MistakesAreNamed) {
  const Certificates certificates;
  certificates.make_authority("ca");
  certificates.make("server", "ca");
  certificates.make("other", "ca");
  const std::vector<std::string> good = {"--metrics", "none", "--listen", "tls://127.0.0.1:0"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), good.begin(), good.end());
    const Ended ended = run_headroomd(arguments);
    EXPECT_EQ(ended.exit_code, 1) << ended.output;
    return ended.output;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string pem = certificates.certificate("server"), key = certificates.key("server"),
                    ca = certificates.certificate("ca");
  EXPECT_PRED2(has, run({}), "needs tls-certificate, tls-key and tls-client-ca");
  EXPECT_PRED2(has, run({"--tls-certificate", pem, "--tls-key", key}), "tls-client-ca: not given");
  EXPECT_PRED2(has,
               run({"--tls-certificate", "/no/such/file", "--tls-key", key, "--tls-client-ca", ca}),
               "/no/such/file");
  EXPECT_PRED2(has,
               run({"--tls-certificate", pem, "--tls-key", certificates.key("other"),
                    "--tls-client-ca", ca}),
               "tls-key");
}

}  // namespace
}  // namespace headroom
