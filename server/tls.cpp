#include "server/tls.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

namespace headroom {

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
  asio::error_code error;
  const auto failed = [&](const char* option, const std::string& file) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}: {}", option, file, error.message()));
  };
  context->use_certificate_chain_file(options.certificate, error);
  if (error) return failed("tls-certificate", options.certificate);
  context->use_private_key_file(options.key, asio::ssl::context::pem, error);
  if (error) return failed("tls-key", options.key);
  context->load_verify_file(options.client_ca, error);
  if (error) return failed("tls-client-ca", options.client_ca);
  context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  if (error) return failed("tls-client-ca", options.client_ca);
  return context;
}

}  // namespace headroom
