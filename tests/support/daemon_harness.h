// What the tests of a running headroomd share: the daemon in a directory of its own, a raw socket
// for peers that do not behave, a client that looks on, small objects, and an HTTP GET.
//
// What cannot be done throws std::runtime_error, which fails the test. Thread safety: each object
// belongs to one thread at a time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/client.h"
#include "client/feeder.h"
#include "objects/objects.h"
#include "schema/endpoint.h"
#include "schema/frame.h"
#include "tests/support/must.h"
#include "tools/load/daemon_process.h"
#include "workloads/temporary_directory.h"

namespace headroom {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::int64_t kTestNowUs = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

// For what takes milliseconds. ThreadSanitizer makes it ten times that, and keeps four words and
// more for each word of memory.
#ifdef HEADROOM_SANITIZED_THREAD
inline constexpr std::chrono::seconds kPatience(60);
inline constexpr std::size_t kBytesPerByte = 6;
#else
inline constexpr std::chrono::seconds kPatience(10);
inline constexpr std::size_t kBytesPerByte = 1;
#endif

// Sanitizers keep freed memory for a while.
#ifdef HEADROOM_SANITIZED
inline constexpr std::size_t kGrowthBytesMax = 1 << 30;
#else
inline constexpr std::size_t kGrowthBytesMax = 100 << 20;
#endif

// For EXPECT_PRED2, which shows both.
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Asks again and again until it is true; false: it never was.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds within = kPatience);

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view text);
// Resident memory of a process: now, and at most since it began.
std::size_t resident_bytes(pid_t pid);
std::size_t peak_resident_bytes(pid_t pid);

struct Ended {
  int exit_code = 0;   // minus a signal's number
  std::string output;  // standard error, and standard output before it
};
// Runs a shell command to its end; its output is collected.
Ended run_command(const std::string& command);
// One word of a shell command.
std::string shell_word(std::string_view word);

// --- Objects -----------------------------------------------------------------------------------

Node small_node(const std::string& name, const std::string& cpu = "8",
                const std::string& pods = "110");
// In namespace "test", its uid is "uid-NAME"; pending where no node is given.
Pod small_pod(const std::string& name, const std::string& cpu = "100m",
              const std::string& node_name = "");
// `count` nodes "PREFIX0000", ..., whose names are at least `name_bytes` long.
std::vector<Object> many_nodes(std::uint32_t count, std::size_t name_bytes = 0);

// --- The daemon --------------------------------------------------------------------------------

class TestDaemon {
 public:
  struct Options {
    std::vector<std::string> arguments = {};  // beside --listen and --metrics
    bool metrics = false;                     // on a port of its own choice
    std::string shell = {};  // done by the shell that becomes headroomd: "export A=b; exec 3<&4"
    bool listen = true;      // on a socket in its directory
    // Where it listens then, as it is told by other means.
    std::optional<Endpoint> activated = {};
  };
  TestDaemon() : TestDaemon(Options{}) {}
  explicit TestDaemon(Options options);
  ~TestDaemon();  // where the test failed, prints what the daemon said
  TestDaemon(const TestDaemon&) = delete;
  TestDaemon& operator=(const TestDaemon&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  const std::string& directory() const { return directory_.path(); }
  std::string path(const std::string& name) const { return directory() + "/" + name; }
  DaemonProcess& process() { return *process_; }
  pid_t pid() const { return process_->pid(); }
  bool running() const;
  // Another process in the same place; the one before has ended.
  void start_again();

  std::string log() const { return read_file(log_path_); }
  std::size_t log_lines() const;
  // Waits for it; false: it did not come.
  bool logged(const std::string& text, std::chrono::milliseconds within = kPatience) const;
  // Of the first address of that kind that it said it listens on.
  Endpoint logged_endpoint(const std::string& prefix) const;

  Client client(const std::string& name = "test") const;
  std::unique_ptr<Feeder> feeder(const std::vector<Object>& objects,
                                 const std::string& name = "feeder") const;
  // Feeds them and waits until they hold; the feeder leaves.
  void feed(const std::vector<Object>& objects) const;

  struct HttpReply {
    int status = 0;
    std::string body;
  };
  HttpReply get(const std::string& target) const;
  // Of /metrics.
  Endpoint metrics_endpoint() const;
  // A sample of /metrics, by its name with labels; -1: it is not there.
  double metric(const std::string& sample) const;

 private:
  void spawn();
  // Of its main thread, in proc(5)'s letters; X: it is gone. ThreadSanitizer of gcc 12 loses a
  // signal that comes as a thread is about to block for the first time: tests begin when the daemon
  // sleeps, and it is asked to end when it does not run. One that is started again may be asked too
  // much to sleep before.
  char state() const;

  const Options options_;
  const TemporaryDirectory directory_;
  const Endpoint endpoint_;
  const std::string log_path_;
  std::unique_ptr<DaemonProcess> process_;
};

// Runs headroomd with arguments that should not let it run.
Ended run_headroomd(const std::vector<std::string>& arguments);

// --- Peers -------------------------------------------------------------------------------------

// A frame of one body; `build` makes it in the builder.
template <typename Build>
Bytes make_frame(std::uint64_t id, Build build) {
  Builder builder;
  finish_frame(builder, id, build(builder));
  const auto bytes = bytes_of(builder);
  return {bytes.begin(), bytes.end()};
}
Bytes hello_frame(const std::string& client_name = "raw", std::uint64_t id = 1);
Bytes stats_frame(std::uint64_t id);
Bytes evaluate_frame(std::uint64_t id, std::span<const PodRef> pods,
                     const EvaluateRequest& request = {});
Bytes feed_begin_frame(std::uint64_t id);
Bytes facts_frame(std::uint64_t id, std::uint64_t sequence, const std::vector<Object>& objects);
Bytes feed_end_frame(std::uint64_t id, std::uint64_t sequence);
// The same frame with `bytes` bytes after the size prefix: zeros at its end.
Bytes padded(Bytes frame, std::size_t bytes);

class RawSocket {
 public:
  explicit RawSocket(const Endpoint& endpoint);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  // All of it; false: the peer has closed, or does not read. What it sent before can be received.
  bool send(std::span<const std::uint8_t> bytes);
  bool send(std::string_view text);
  // Some of it, as much as goes without waiting.
  std::size_t send_now(std::span<const std::uint8_t> bytes);
  void shut_write();
  // The next frame, valid until the next call; nullptr: none came, or closed().
  const wire::Frame* receive(std::chrono::milliseconds within = kPatience);
  // Sends a Hello and takes its reply.
  void greet(const std::string& name = "raw");
  // The peer's end; false: it did not come in time. Frames before it are dropped.
  bool await_close(std::chrono::milliseconds within = kPatience);
  bool closed() const { return closed_; }
  // All that comes until the peer's end, or until it has `end` in it.
  std::string receive_text(std::string_view end = {});

 private:
  // False: nothing came.
  bool fill(std::chrono::milliseconds within);

  int socket_ = -1;
  bool send_failed_ = false;  // it takes no more
  bool closed_ = false;       // it sends no more
  FrameBuffer buffer_{kFrameBytesMax};
};

// A connection that asks all the while, and should notice nothing of what others do.
class Bystander {
 public:
  explicit Bystander(const TestDaemon& daemon, const std::string& cpu = "100m");
  ~Bystander();
  // Ends it. What it noticed: "" where all was well and at least `answers_min` answers came.
  std::string noticed(std::uint64_t answers_min = 3);
  std::uint64_t answers() const { return answers_; }

 private:
  void run();

  Client client_;
  const Pod pod_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> answers_ = 0;
  std::atomic<bool> failed_ = false;  // then error_ says why
  std::string error_;
  std::thread thread_;
};

// The text of an Error; "" where the frame is another, or none.
std::string error_text(const wire::Frame* frame);

}  // namespace headroom
