#pragma once

#include <cstdint>
#include <optional>

namespace cogen {

/// How an engine serves a sequence that is driven by hand; its forks are served alike.
struct open_options {
  /// Tokens that it may hold, from 1 to engine_options.limits.max_sequence_length. Empty: that limit.
  std::optional<int> max_sequence_length = {};

  /// For an engine whose order goes by priority: higher comes first.
  int priority = 0;

  /// Whom it is for, for an engine whose order divides between tenants.
  std::uint64_t tenant = 0;

  /// Whether it begins with what the engine holds of its first tokens, and leaves its own for others, where the engine
  /// caches prefixes at all.
  bool prefix_caching = true;

  /// It shares tokens with those of the same cache salt alone. Empty: the tenant.
  std::optional<std::uint64_t> cache_salt = {};
};

}  // namespace cogen
