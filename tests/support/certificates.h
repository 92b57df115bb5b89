// Certificates for tests of mutual TLS, made by the openssl command. What cannot be made throws.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/daemon_harness.h"

namespace headroom {

// PEM files NAME.crt and NAME.key in one directory.
class Certificates {
 public:
  std::string certificate(const std::string& name) const { return file(name, ".crt"); }
  std::string key(const std::string& name) const { return file(name, ".key"); }

  void make_authority(const std::string& name) const {
    openssl(fmt::format("req -x509 {} -keyout {} -out {} -subj /CN={} -days 2", kNewKey, key(name),
                        certificate(name), name));
  }
  // Days below 0: it has expired. `new_key`: how the key is made.
  void make(const std::string& name, const std::string& authority, int days = 2,
            const char* new_key = kNewKey) const {
    const std::string request = file(name, ".csr"), extensions = file(name, ".ext");
    openssl(fmt::format("req -new {} -keyout {} -out {} -subj /CN={}", new_key, key(name), request,
                        name));
    write_file(extensions, fmt::format("subjectAltName=IP:127.0.0.1,DNS:{}.example\n", name));
    openssl(fmt::format(
        "x509 -req -in {} -CA {} -CAkey {} -CAcreateserial -days {} -extfile {}"
        " -out {}",
        request, certificate(authority), key(authority), days, extensions, certificate(name)));
  }

  // What headroomd is told to listen as "server" for clients of that authority.
  std::vector<std::string> server_arguments(const std::string& client_authority) const {
    return {"--listen",  "tls://127.0.0.1:0", "--tls-certificate", certificate("server"),
            "--tls-key", key("server"),       "--tls-client-ca",   certificate(client_authority)};
  }
  ClientOptions client_options(const std::string& name, const std::string& server_authority) const {
    ClientOptions options;
    options.name = name;
    options.socket.timeout = kPatience;
    options.socket.tls = {.certificate = certificate(name),
                          .key = key(name),
                          .server_ca = certificate(server_authority),
                          .server_name = ""};
    return options;
  }

 private:
  static constexpr const char* kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

  std::string file(const std::string& name, const char* suffix) const {
    return directory_.path() + "/" + name + suffix;
  }
  static void openssl(const std::string& arguments) {
    const Ended ended = run_command("openssl " + arguments);
    if (ended.exit_code != 0) throw std::runtime_error("openssl " + arguments + ended.output);
  }

  const TemporaryDirectory directory_ = must(TemporaryDirectory::make("headroomd-tls"));
};

}  // namespace headroom
