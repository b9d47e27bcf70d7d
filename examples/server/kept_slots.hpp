#pragma once

#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace server {

/// The tokens of the last answer with each `id_slot`, by the key that asked for it: a key has slots of its own. Of each
/// key's, the least recently used are forgotten beyond the limits. Any thread.
class kept_slots {
 public:
  static constexpr std::size_t max_slots = 64;                     ///< of a key
  static constexpr std::size_t max_bytes = std::size_t{16} << 20;  ///< of a key's tokens
  using token_ids = std::vector<cogen::token>;

  /// Replaces what the slot has. Tokens that exceed the limits by themselves are not kept.
  void keep(std::uint64_t tenant, int id, token_ids tokens);

  /// Adds to what the slot has, if the key has it. It counts as used.
  void extend(std::uint64_t tenant, int id, std::span<const cogen::token> more);

  /// None: the key has no such slot. It counts as used.
  std::optional<token_ids> find(std::uint64_t tenant, int id);

  void erase(std::uint64_t tenant, int id);

 private:
  struct slot {
    int id;
    token_ids tokens;
  };
  using slot_list = std::list<slot>;  ///< the most recently used first

  static token_ids* find_in(slot_list& slots, int id);
  static void limit(slot_list& slots);

  std::mutex mutex_;
  std::map<std::uint64_t, slot_list> by_tenant_;  // guarded by mutex_
};

}  // namespace server
