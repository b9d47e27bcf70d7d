#pragma once

#include <cogen/engine_options.hpp>

#include <cstdint>
#include <filesystem>

namespace cogen {

/// What an engine over a model takes of memory. Not in it: the tokenizer, what one step computes with (activations of
/// engine_options.batching.max_batched_tokens tokens, logits of a row for each slot), and the process itself.
struct memory_estimate {
  std::int64_t weight_bytes = 0;  ///< of all weights, as loading packs them
  int max_sequence_length = 0;    ///< tokens that one sequence may hold
  std::int64_t slot_bytes =
      0;  ///< of the cache of one sequence of that length, its encoder input at its longest included
  std::int64_t cache_bytes = 0;  ///< of all slots at most: so long each, or engine_options.kv.bytes if that is less

  std::int64_t total() const noexcept { return weight_bytes + cache_bytes; }
};

/// Reads the header and the configuration of a model, as load_model() takes them, and none of its weights. What it says
/// of weights holds for any engine; caches are the options'. Their `layer_factory` make layers, as for an engine.
///
/// Throws what load_model() does where the header and the configuration are wrong or a tensor is missing or misshapen,
/// and what the engine's constructor does for options that make no sense for this model. Any thread.
memory_estimate estimate_memory(const std::filesystem::path& path, const engine_options& options = {});

}  // namespace cogen
