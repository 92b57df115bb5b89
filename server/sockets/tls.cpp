#include "server/sockets/tls.h"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headroom {

namespace {

// A key is its owner's: nobody else may read it, but a group where another user (root, for a secret
// that Kubernetes mounts) owns the file and gave it to the daemon's group.
Result<void> check_key_mode(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(ErrorCode::kIo, fmt::format("tls-key: {}: {}", path, std::strerror(errno)));
  }
  const bool own = status.st_uid == ::geteuid();
  const mode_t too_much = status.st_mode & (own ? 0077 : 0037);
  if (too_much == 0) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("tls-key: {}: its mode is {:04o}, others than the daemon may use it:"
                          " {} is accepted (of a Kubernetes secret: defaultMode and fsGroup)",
                          path, status.st_mode & 07777, own ? "0600" : "0640"));
}

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> make_tls_context(const TlsOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"tls-certificate", &options.certificate}, std::pair{"tls-key", &options.key},
        std::pair{"tls-client-ca", &options.client_ca}}) {
    if (value->empty()) {
      return fail(
          ErrorCode::kInvalid,
          fmt::format("{}: not given; TLS needs tls-certificate, tls-key and tls-client-ca", name));
    }
  }
  if (options.minimum_version != "1.2" && options.minimum_version != "1.3") {
    return fail(ErrorCode::kInvalid, fmt::format("tls-minimum-version: \"{}\"; accepted: 1.2, 1.3",
                                                 options.minimum_version));
  }
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(),
                                options.minimum_version == "1.2" ? TLS1_2_VERSION : TLS1_3_VERSION);
  // No resumption: each connection shows a certificate that today's authority vouches for, and they
  // are few and long.
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context->native_handle(), 0);
  if (auto mode = check_key_mode(options.key); !mode) return tl::unexpected(mode.error());
  asio::error_code error;
  // A key with a password is refused: nobody is there to be asked for it.
  context->set_password_callback(
      [](std::size_t, asio::ssl::context::password_purpose) { return std::string(); }, error);
  const auto failed = [&](const char* option, const std::string& file) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}: {}", option, file, error.message()));
  };
  context->use_certificate_chain_file(options.certificate, error);
  if (error) return failed("tls-certificate", options.certificate);
  context->use_private_key_file(options.key, asio::ssl::context::pem, error);
  if (error) return failed("tls-key", options.key);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return fail(ErrorCode::kInvalid,
                fmt::format("tls-key: {}: is not the key of tls-certificate {}", options.key,
                            options.certificate));
  }
  context->load_verify_file(options.client_ca, error);
  if (error) return failed("tls-client-ca", options.client_ca);
  context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  if (error) return failed("tls-client-ca", options.client_ca);
  return context;
}

}  // namespace headroom
