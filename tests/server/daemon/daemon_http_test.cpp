// The metrics port of a running headroomd: HTTP as scrapers and health checks speak it, and the
// answers to what is not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "server/sockets/http_server.h"
#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

class DaemonHttp : public testing::Test {
 protected:
  // What a connection of its own is answered.
  std::string answer(std::string_view request) const {
    RawSocket peer(daemon_.metrics_endpoint());
    peer.send(request);
    return peer.receive_text();
  }
  static int status(const std::string& reply) {
    int status = 0;
    return std::sscanf(reply.c_str(), "HTTP/1.1 %d", &status) == 1 ? status : -1;
  }

  const TestDaemon daemon_{{.metrics = true}};
};

TEST_F(DaemonHttp, AnswersOneRequestAfterTheOtherOnAConnection) {
  RawSocket peer(daemon_.metrics_endpoint());
  for (int r = 0; r < 3; ++r) {
    peer.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_PRED2(has, peer.receive_text("ok\n"), "HTTP/1.1 200");
  }
  // And when they come all at once.
  peer.send(
      "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string replies = peer.receive_text();
  EXPECT_TRUE(peer.closed());
  EXPECT_PRED2(has, replies, "HTTP/1.1 503");
  EXPECT_PRED2(has, replies, "HTTP/1.1 404");
  EXPECT_PRED2(has, replies, "\nheadroomd_ready 0\n");
  EXPECT_EQ(daemon_.metric(R"(headroomd_http_replies_total{status="404"})"), 1);
}

TEST_F(DaemonHttp, AnAnswerToHeadHasNoBody) {
  const std::string reply =
      answer("HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status(reply), 200);
  EXPECT_PRED2(has, reply, "Content-Length: 3\r\n");
  EXPECT_EQ(reply.substr(reply.size() - 4), "\r\n\r\n");
}

TEST_F(DaemonHttp, TakesTheTargetWithoutItsQuery) {
  EXPECT_EQ(daemon_.get("/healthz?verbose").status, 200);
  EXPECT_EQ(daemon_.get("/metrics?name[]=x").status, 200);
  EXPECT_EQ(daemon_.get("/").status, 404);
  EXPECT_EQ(daemon_.get("/metrics/../../etc/passwd").status, 404);
}

TEST_F(DaemonHttp, OtherMethodsAreToldWhichThereAre) {
  for (const char* method : {"POST", "DELETE", "OPTIONS", "BREW"}) {
    const std::string reply =
        answer(fmt::format("{} /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method));
    EXPECT_EQ(status(reply), 405) << method;
    EXPECT_PRED2(has, reply, "Allow: GET, HEAD\r\n");
  }
}

TEST_F(DaemonHttp, ABodyIsRefused) {
  EXPECT_EQ(status(answer("GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")), 413);
  EXPECT_EQ(status(answer("GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
                          "Connection: close\r\n\r\n")),
            200);
}

TEST_F(DaemonHttp, HeaderBytes) {
  for (const std::size_t bytes :
       {kHttpHeaderBytesMax - 1, kHttpHeaderBytesMax, kHttpHeaderBytesMax + 1}) {
    const std::string start = "GET /healthz HTTP/1.1\r\nConnection: close\r\nX: ";
    const std::string end = "\r\n\r\n";
    const std::string reply =
        answer(start + std::string(bytes - start.size() - end.size(), 'v') + end);
    EXPECT_EQ(status(reply), bytes <= kHttpHeaderBytesMax ? 200 : 431) << bytes;
    EXPECT_EQ(has(reply, "kHttpHeaderBytesMax (8192)"), bytes > kHttpHeaderBytesMax);
  }
}

TEST_F(DaemonHttp, WhatIsNoHttpIsToldSo) {
  EXPECT_EQ(status(answer("hello?\r\n\r\n")), 400);
  const Bytes frame = hello_frame();
  EXPECT_EQ(status(answer({reinterpret_cast<const char*>(frame.data()), frame.size()})), 400);
  EXPECT_EQ(daemon_.get("/healthz").status, 200);
}

TEST_F(DaemonHttp, ARequestThatDoesNotEndIsToldSo) {
  RawSocket peer(daemon_.metrics_endpoint());
  peer.send("GET /healthz HTTP/1.1\r\nHost:");
  EXPECT_EQ(status(peer.receive_text()), 408);
  EXPECT_TRUE(peer.closed());
}

TEST(DaemonHttpOptions, MistakesAreNamed) {
  const auto run = [](const std::string& metrics) {
    return run_headroomd({"--listen", "tcp://127.0.0.1:0", "--metrics", metrics});
  };
  const Ended name = run("nowhere.example:0");
  EXPECT_EQ(name.exit_code, 1);
  EXPECT_PRED2(has, name.output, "\\\"nowhere.example\\\" is not an IP address");
  const TestDaemon other({.metrics = true});
  const Ended taken = run(fmt::format("127.0.0.1:{}", other.metrics_endpoint().port));
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_PRED2(has, taken.output, "Address already in use");
}

}  // namespace
}  // namespace headroom
