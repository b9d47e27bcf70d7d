#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace cogen::scheduler {

/// Whose cached prefixes a sequence shares: those of the same tenant and digest. Both are compared as they are.
struct cache_salt {
  /// A tenant's own, without a salt.
  constexpr cache_salt(std::uint64_t tenant_id = 0) noexcept
      : tenant(tenant_id) {}  // NOLINT(google-explicit-constructor)

  /// A salt that several tenants may have.
  explicit constexpr cache_salt(const std::array<std::uint64_t, 4>& hash) noexcept : digest(hash) {}

  std::uint64_t tenant = 0;
  std::array<std::uint64_t, 4> digest = {};  ///< of the salt, by a collision-resistant hash; zeros: there is none

  friend auto operator<=>(const cache_salt&, const cache_salt&) = default;
};

}  // namespace cogen::scheduler
