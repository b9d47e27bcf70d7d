#include "engine/salt.hpp"

#include <cogen/load/sha256.hpp>
#include <cogen/request.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace cogen::detail {

scheduler::cache_salt salt_of(std::uint64_t tenant, const std::optional<std::string>& cache_salt) {
  return cache_salt ? scheduler::cache_salt(load::sha256(*cache_salt)) : scheduler::cache_salt(tenant);
}

void check_salt(const std::optional<std::string>& cache_salt) {
  if (cache_salt && cache_salt->size() > request::max_cache_salt_bytes)
    throw std::invalid_argument(
        fmt::format("cache_salt has {} bytes; it may have {}", cache_salt->size(), request::max_cache_salt_bytes));
}

}  // namespace cogen::detail
