#include "server/sockets/access.h"

#include <fmt/format.h>
#include <openssl/x509v3.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "schema/limits.h"

namespace headroom {

namespace {

constexpr std::string_view kUser = "user:", kCertificate = "cert:", kTcp = "tcp";

// A name that ends before its end, for those who read it as C does, is none.
void add_name(std::string_view name, std::vector<std::string>& principals) {
  if (name.empty() || name.size() > kTextBytesMax || name.find('\0') != std::string_view::npos) {
    return;
  }
  principals.push_back(std::string(kCertificate).append(name));
}

std::string_view text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

}  // namespace

Roles Access::roles_of(std::span<const std::string> principals) const {
  const auto in = [&](const List& list) {
    return !list || std::any_of(principals.begin(), principals.end(),
                                [&](const std::string& name) { return list->contains(name); });
  };
  Roles roles;
  if (in(feeders)) roles.add(Role::kFeed);
  if (in(deciders)) roles.add(Role::kDecide);
  if (!roles.empty() || in(viewers)) roles.add(Role::kLook);
  return roles;
}

Result<std::uint32_t> parse_user(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size()) return id;
  const passwd* entry = ::getpwnam(std::string(text).c_str());
  if (entry != nullptr) return entry->pw_uid;
  return fail(ErrorCode::kNotFound, fmt::format("\"{}\": no such user", text));
}

Result<std::string> parse_principal(std::string_view text) {
  if (text == kTcp) return std::string(text);
  if (text.starts_with(kCertificate) && text.size() > kCertificate.size()) return std::string(text);
  if (text.starts_with(kUser) && text.size() > kUser.size()) {
    const Result<std::uint32_t> id = parse_user(text.substr(kUser.size()));
    if (!id) return tl::unexpected(id.error());
    return fmt::format("{}{}", kUser, *id);
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("\"{}\": user:NAME, user:ID, cert:NAME and tcp are accepted", text));
}

std::vector<std::string> principals_of(const X509& certificate) {
  std::vector<std::string> principals;
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
    unsigned char* utf8 = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) continue;
    add_name({reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size)}, principals);
    OPENSSL_free(utf8);
  }
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int n = 0; n < sk_GENERAL_NAME_num(names.get()); ++n) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), n), &type);
    if (type == GEN_DNS || type == GEN_URI || type == GEN_EMAIL) {
      add_name(text_of(static_cast<const ASN1_STRING*>(value)), principals);
    }
  }
  return principals;
}

}  // namespace headroom
