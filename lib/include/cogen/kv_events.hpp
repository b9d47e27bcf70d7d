#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace cogen {

/// Blocks that the prefix cache holds from now on: consecutive ones of one sequence.
///
/// A block is kv_options::event_block_size tokens, from a multiple of that on. SHA-256 of its tokens and of the digest
/// of the block before it, or for the first one of tenant and salt, names all tokens up to its end, and is the same in
/// every engine. Its last 64 bits are told as the block's hash; the engine itself compares all of them.
struct kv_blocks_stored {
  std::vector<std::uint64_t> block_hashes;
  std::optional<std::uint64_t> parent_block_hash;  ///< of the block before the first of these; empty: there is none
  std::vector<token> token_ids;                    ///< of all these blocks
  std::string cache_salt;                          ///< names tenant and salt; empty: tenant 0 without a salt
};

/// Blocks that it does not hold any more.
struct kv_blocks_removed {
  std::vector<std::uint64_t> block_hashes;  ///< a block comes before the one that it continues
};

/// It holds nothing.
struct kv_blocks_cleared {};

using kv_event = std::variant<kv_blocks_stored, kv_blocks_removed, kv_blocks_cleared>;

/// Receives what an engine's prefix cache holds, for routers that send requests where their first tokens are cached.
///
/// A block is held while slots of running, idle or ended sequences have it for other requests to share; it is stored
/// once, however many slots hold it. Caches that forget (windows, recurrent states, quantized ones) may share less than
/// a slot holds: such an engine may find fewer tokens than its events say. None shares a prefix of fewer than 16
/// tokens.
class kv_event_sink {
 public:
  virtual ~kv_event_sink() = default;

  /// What a step has changed, never empty: first what was stored, a block after the one that it continues, then what
  /// was removed. The first event of an engine is kv_blocks_cleared.
  ///
  /// Called between steps on the engine's thread, with no lock held; `batch` is valid until it returns. It must not
  /// block. If it throws, the exception is logged (engine_options::log), and the engine calls the sink no more.
  virtual void on_kv_events(std::span<const kv_event> batch) = 0;
};

}  // namespace cogen
