// The server's side of mutual TLS.
//
// Thread safety: one thread at a time. The files are read once, into the context; a reload makes
// another one, and connections keep that which they began with.
#pragma once

#include <asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "objects/error.h"

namespace headroom {

struct TlsOptions {
  std::string certificate, key;         // PEM files: the chain, and its key
  std::string client_ca;                // PEM file: who signs the certificates of clients
  std::string minimum_version = "1.3";  // or 1.2
  bool given() const { return !certificate.empty() || !key.empty() || !client_ca.empty(); }
};

// A context that asks every client for a certificate; sessions are not resumed. Errors: kInvalid or
// kIo naming the option, the file, and what OpenSSL says, or the mode of a key that others may
// read.
Result<std::shared_ptr<asio::ssl::context>> make_tls_context(const TlsOptions& options);

}  // namespace headroom
