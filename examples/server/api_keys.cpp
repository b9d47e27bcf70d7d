#include "api_keys.hpp"

#include "api/error.hpp"

#include <cogen/load/sha256.hpp>

#include <algorithm>

namespace server {
namespace {

std::string_view key_in(const http::request& request) {
  if (const auto key = request.header("x-api-key")) return *key;
  constexpr std::string_view scheme = "bearer ";
  const auto header = request.header("authorization").value_or("");
  if (header.size() < scheme.size()) return {};
  for (std::size_t i = 0; i < scheme.size(); ++i)
    if ((header[i] | 0x20) != scheme[i]) return {};
  return header.substr(scheme.size());
}

/// Never 0, which is nobody.
std::uint64_t number_of(const std::string& key) {
  return std::max<std::uint64_t>(1, cogen::load::sha256("cogen tenant of " + key).front());
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  return difference == 0;
}

std::uint64_t tenant_of(const http::request& request, std::span<const std::string> keys) {
  if (keys.empty()) return 0;
  const auto key = key_in(request);
  const std::string* found = nullptr;
  for (const auto& candidate : keys)
    if (equal_in_constant_time(key, candidate)) found = &candidate;
  if (!found) throw api::error(401, "authentication_error", "Invalid API Key", "", "invalid_api_key");
  return number_of(*found);
}

const std::string& key_of(std::uint64_t tenant, std::span<const std::string> keys) {
  return *std::ranges::find(keys, tenant, number_of);
}

void check_operator(std::uint64_t tenant, const options& settings) {
  const auto& keys = settings.api_keys;
  if (keys.size() < 2 || std::ranges::count(settings.operator_keys, key_of(tenant, keys))) return;
  throw api::error(403, "permission_error", "this is of all keys: it needs a key of --operator-key-file", "",
                   "no_operator");
}

}  // namespace server
