// The daemon, its peers and small objects, as the header promises them.
#include "tests/support/daemon_harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <sstream>

#include "tests/support/objects.h"

namespace headroom {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(2);

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds within) {
  const Clock::time_point deadline = Clock::now() + within;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

std::size_t resident_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::size_t size = 0, resident = 0;
  if (!(file >> size >> resident)) throw std::runtime_error("statm: the process is gone");
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t peak_resident_bytes(pid_t pid) {
  const std::string status = read_file(fmt::format("/proc/{}/status", pid));
  const std::size_t found = status.find("VmHWM:");
  if (found == std::string::npos) throw std::runtime_error("status: the process is gone");
  return std::stoul(status.substr(found + std::string_view("VmHWM:").size())) << 10;
}

std::string shell_word(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Ended run_command(const std::string& command) {
  FILE* const pipe = ::popen(("( " + command + " ) 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) throw_errno("popen");
  Ended ended;
  char text[4096];
  for (std::size_t read = 0; (read = std::fread(text, 1, sizeof(text), pipe)) > 0;) {
    ended.output.append(text, read);
  }
  const int status = ::pclose(pipe);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ended;
}

Ended run_headroomd(const std::vector<std::string>& arguments) {
  std::string command = "timeout 20 " + shell_word(HEADROOMD_PATH);
  for (const std::string& argument : arguments) command += " " + shell_word(argument);
  return run_command(command);
}

// --- Objects -----------------------------------------------------------------------------------

Node small_node(const std::string& name, const std::string& cpu, const std::string& pods) {
  return node_of(name,
                 {{"cpu", must(Quantity::parse(cpu))},
                  {"memory", must(Quantity::parse("16Gi"))},
                  {"pods", must(Quantity::parse(pods))}},
                 {{"kubernetes.io/hostname", name}});
}

Pod small_pod(const std::string& name, const std::string& cpu, const std::string& node_name) {
  const ResourceList amounts = {{"cpu", must(Quantity::parse(cpu))},
                                {"memory", must(Quantity::parse("64Mi"))}};
  return pod_of("test", name, amounts,
                {.limits = amounts,
                 .node_name = node_name,
                 .phase = node_name.empty() ? "Pending" : "Running",
                 .uid = "uid-" + name});
}

std::vector<Object> many_nodes(std::uint32_t count, std::size_t name_bytes) {
  std::vector<Object> nodes;
  for (std::uint32_t n = 0; n < count; ++n) {
    std::string name = fmt::format("n-{:04}", n);
    if (name.size() < name_bytes) name.append(name_bytes - name.size(), 'x');
    Node node = small_node(name);
    node.labels.clear();
    nodes.emplace_back(std::move(node));
  }
  return nodes;
}

// --- The daemon --------------------------------------------------------------------------------

TestDaemon::TestDaemon(Options options)
    : options_(std::move(options)),
      directory_(must(TemporaryDirectory::make("headroomd-test"))),
      endpoint_(options_.activated ? *options_.activated
                                   : must(Endpoint::parse("unix://" + directory_.path() + "/s"))),
      log_path_(directory_.path() + "/log") {
  spawn();
#ifdef HEADROOM_SANITIZED_THREAD
  if (!eventually([&] { return state() == 'S'; })) throw std::runtime_error("it does not sleep");
#endif
}

TestDaemon::~TestDaemon() {
#ifdef HEADROOM_SANITIZED_THREAD
  eventually([&] { return state() != 'R'; });
#endif
  if (!testing::Test::HasFailure() && std::uncaught_exceptions() == 0) return;
  fmt::print("--- headroomd said:\n{}---\n", log());
}

// The shell becomes headroomd: its process is the daemon's.
void TestDaemon::spawn() {
  std::string script = options_.shell;
  if (!script.empty()) script += "\n";
  script += "exec \"$@\" 2>>" + shell_word(log_path_);
  std::vector<std::string> arguments = {"-c", script, "sh", HEADROOMD_PATH};
  if (options_.listen) arguments.insert(arguments.end(), {"--listen", endpoint_.text()});
  arguments.insert(arguments.end(), {"--metrics", options_.metrics ? "127.0.0.1:0" : "none"});
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  auto started = DaemonProcess::start("/bin/sh", std::move(arguments), endpoint_);
  if (!started) throw std::runtime_error(started.error().message + "\n" + log());
  process_ = std::make_unique<DaemonProcess>(std::move(*started));
}

void TestDaemon::start_again() { spawn(); }

bool TestDaemon::running() const { return pid() > 0 && ::kill(pid(), 0) == 0; }

char TestDaemon::state() const {
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid()));
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? 'X' : stat[name_end + 2];
}

std::size_t TestDaemon::log_lines() const {
  const std::string text = log();
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool TestDaemon::logged(const std::string& text, std::chrono::milliseconds within) const {
  return eventually([&] { return log().find(text) != std::string::npos; }, within);
}

Endpoint TestDaemon::logged_endpoint(const std::string& prefix) const {
  const std::string before = "listening endpoint=" + prefix;
  if (!logged(before)) throw std::runtime_error("it does not listen on " + prefix);
  const std::string text = log();
  const std::size_t begin = text.find(before) + before.size() - prefix.size();
  return must(Endpoint::parse(text.substr(begin, text.find('\n', begin) - begin)));
}

Client TestDaemon::client(const std::string& name) const {
  ClientOptions options;
  options.name = name;
  options.socket.timeout = kPatience;
  return must(Client::connect(endpoint_, options));
}

std::unique_ptr<Feeder> TestDaemon::feeder(const std::vector<Object>& objects,
                                           const std::string& name) const {
  Feeder::Options options;
  options.client.name = name;
  options.client.socket.timeout = kPatience;
  options.clock = [] { return kTestNowUs; };
  return std::make_unique<Feeder>(endpoint_, std::move(options),
                                  [&objects](const Feeder::Emit& emit) {
                                    for (const Object& object : objects) emit(object);
                                  });
}

void TestDaemon::feed(const std::vector<Object>& objects) const {
  const std::unique_ptr<Feeder> feeding = feeder(objects);
  must(feeding->resync());
  must(feeding->barrier());
}

Endpoint TestDaemon::metrics_endpoint() const {
  const std::string before = "metrics address=http://";
  if (!logged(before)) throw std::runtime_error("it has no metrics");
  const std::string text = log();
  const std::size_t begin = text.rfind(before) + before.size();
  return must(Endpoint::parse("tcp://" + text.substr(begin, text.find("/metrics", begin) - begin)));
}

TestDaemon::HttpReply TestDaemon::get(const std::string& target) const {
  RawSocket socket(metrics_endpoint());
  socket.send(fmt::format("GET {} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", target));
  const std::string reply = socket.receive_text();
  HttpReply parsed;
  if (std::sscanf(reply.c_str(), "HTTP/1.1 %d", &parsed.status) != 1) {
    throw std::runtime_error("not HTTP: " + reply);
  }
  const std::size_t body = reply.find("\r\n\r\n");
  if (body != std::string::npos) parsed.body = reply.substr(body + 4);
  return parsed;
}

double TestDaemon::metric(const std::string& sample) const {
  const std::string text = "\n" + get("/metrics").body;
  const std::size_t found = text.find("\n" + sample + " ");
  return found == std::string::npos ? -1 : std::stod(text.substr(found + sample.size() + 2));
}

// --- Peers -------------------------------------------------------------------------------------

Bytes hello_frame(const std::string& client_name, std::uint64_t id) {
  return make_frame(id, [&](Builder& builder) {
    const auto name = builder.CreateString(client_name);
    return wire::CreateHello(builder, kProtocolVersion, kProtocolVersion, name);
  });
}

Bytes stats_frame(std::uint64_t id) {
  return make_frame(id, [](Builder& builder) { return wire::CreateStats(builder); });
}

Bytes evaluate_frame(std::uint64_t id, std::span<const PodRef> pods,
                     const EvaluateRequest& request) {
  return make_frame(id, [&](Builder& builder) { return encode_evaluate(builder, pods, request); });
}

Bytes feed_begin_frame(std::uint64_t id) {
  return make_frame(id,
                    [](Builder& builder) { return wire::CreateFeedBegin(builder, 0, kTestNowUs); });
}

Bytes facts_frame(std::uint64_t id, std::uint64_t sequence, const std::vector<Object>& objects) {
  return make_frame(id, [&](Builder& builder) {
    std::vector<flatbuffers::Offset<wire::Change>> changes;
    for (const Object& object : objects) changes.push_back(encode_upsert(builder, object));
    return wire::CreateFacts(builder, sequence, builder.CreateVector(changes));
  });
}

Bytes feed_end_frame(std::uint64_t id, std::uint64_t sequence) {
  return make_frame(id, [&](Builder& builder) { return wire::CreateFeedEnd(builder, sequence); });
}

Bytes padded(Bytes frame, std::size_t bytes) {
  if (frame.size() > bytes + sizeof(std::uint32_t)) throw std::runtime_error("padded: too long");
  frame.resize(bytes + sizeof(std::uint32_t));
  flatbuffers::WriteScalar(frame.data(), static_cast<flatbuffers::uoffset_t>(bytes));
  return frame;
}

RawSocket::RawSocket(const Endpoint& endpoint) {
  const bool local = endpoint.kind == Endpoint::Kind::kUnix;
  socket_ = ::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw_errno("socket");
  int connected = -1;
  if (local) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    endpoint.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    connected = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
    connected = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  if (connected != 0) {
    const int error = errno;
    ::close(socket_);
    errno = error;
    throw_errno("connect " + endpoint.text());
  }
}

RawSocket::~RawSocket() { ::close(socket_); }

std::size_t RawSocket::send_now(std::span<const std::uint8_t> bytes) {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno != EAGAIN && errno != EINTR) send_failed_ = true;
  return 0;
}

bool RawSocket::send(std::span<const std::uint8_t> bytes) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!bytes.empty()) {
    bytes = bytes.subspan(send_now(bytes));
    if (send_failed_) return false;
    if (bytes.empty()) break;
    pollfd waiting{.fd = socket_, .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, milliseconds_until(deadline)) == 0) return false;
  }
  return true;
}

bool RawSocket::send(std::string_view text) {
  return send(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void RawSocket::shut_write() { ::shutdown(socket_, SHUT_WR); }

bool RawSocket::fill(std::chrono::milliseconds within) {
  if (closed_) return false;
  pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, static_cast<int>(within.count())) == 0) return false;
  const std::span<std::uint8_t> room = buffer_.room();
  const ssize_t bytes = ::recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (bytes <= 0) {
    closed_ = true;
    return false;
  }
  buffer_.received(static_cast<std::size_t>(bytes));
  return true;
}

const wire::Frame* RawSocket::receive(std::chrono::milliseconds within) {
  const Clock::time_point deadline = Clock::now() + within;
  for (;;) {
    const FrameBuffer::Received received = must(buffer_.next());
    if (received.frame != nullptr) return received.frame;
    if (!fill(std::chrono::milliseconds(milliseconds_until(deadline)))) return nullptr;
  }
}

void RawSocket::greet(const std::string& name) {
  send(hello_frame(name));
  const wire::Frame* reply = receive();
  if (reply == nullptr || reply->body_as_HelloReply() == nullptr) {
    throw std::runtime_error("no HelloReply: " + error_text(reply));
  }
}

bool RawSocket::await_close(std::chrono::milliseconds within) {
  const Clock::time_point deadline = Clock::now() + within;
  while (!closed_ && Clock::now() < deadline) {
    receive(std::chrono::milliseconds(milliseconds_until(deadline)));
  }
  return closed_;
}

std::string RawSocket::receive_text(std::string_view end) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  std::string text;
  char piece[4096];
  for (;;) {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, milliseconds_until(deadline)) == 0) return text;
    const ssize_t bytes = ::recv(socket_, piece, sizeof(piece), MSG_DONTWAIT);
    if (bytes <= 0) {
      closed_ = true;
      return text;
    }
    text.append(piece, static_cast<std::size_t>(bytes));
    if (!end.empty() && text.find(end) != std::string::npos) return text;
  }
}

Bystander::Bystander(const TestDaemon& daemon, const std::string& cpu)
    : client_(daemon.client("bystander")), pod_(small_pod("bystander", cpu)) {
  thread_ = std::thread([this] { run(); });
}

Bystander::~Bystander() { noticed(0); }

// Not by evaluate(), which would make a lost connection again.
void Bystander::run() {
  const PodRef ref = pod_;
  while (!stop_ && error_.empty()) {
    const std::uint64_t id =
        client_.send(encode_evaluate(client_.builder(), std::span(&ref, 1), {.reasons = true}));
    if (auto sent = client_.flush(); !sent) {
      error_ = sent.error().message;
      break;
    }
    const auto received = client_.receive();
    if (!received) {
      error_ = received.error().message;
    } else if (received->frame->id() != id || received->frame->body_as_Evaluated() == nullptr) {
      error_ = "another answer: " + error_text(received->frame);
    } else {
      ++answers_;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  failed_ = !error_.empty();
}

std::string Bystander::noticed(std::uint64_t answers_min) {
  if (thread_.joinable()) {
    // What comes after now counts too.
    const std::uint64_t enough = std::max(answers_ + 1, answers_min);
    if (answers_min > 0) eventually([&] { return answers_ >= enough || failed_; });
    stop_ = true;
    thread_.join();
  }
  if (!error_.empty()) return error_;
  return answers_ < answers_min ? fmt::format("only {} answers", answers_.load()) : "";
}

std::string error_text(const wire::Frame* frame) {
  if (frame == nullptr) return "";
  const wire::Error* error = frame->body_as_Error();
  return error == nullptr ? "" : std::string(text(error->message()));
}

}  // namespace headroom
