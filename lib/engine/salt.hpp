#pragma once

#include <cogen/scheduler/cache_salt.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cogen::detail {

/// Whose cached prefixes a request of this tenant and salt shares.
scheduler::cache_salt salt_of(std::uint64_t tenant, const std::optional<std::string>& cache_salt);

/// Throws std::invalid_argument for a salt that is too long.
void check_salt(const std::optional<std::string>& cache_salt);

}  // namespace cogen::detail
