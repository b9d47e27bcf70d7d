#pragma once

#include <cogen/engine_options.hpp>

#include <cstdint>
#include <filesystem>

namespace cogen {

/// The memory of an engine over a model. Not included: the tokenizer, the working memory of a step (activations of
/// engine_options.batching.max_batched_tokens tokens, logits of a row for each slot), and the process itself.
struct memory_estimate {
  std::int64_t weight_bytes = 0;  ///< of all weights, as loaded
  int max_sequence_length = 0;    ///< tokens that one sequence may hold

  /// Of one sequence of that length in the cache, with the longest encoder input.
  std::int64_t slot_bytes = 0;

  /// Of all slots together, each of that length, or engine_options.kv.bytes if that is less.
  std::int64_t cache_bytes = 0;

  std::int64_t total() const noexcept { return weight_bytes + cache_bytes; }
};

/// Estimates memory from the header and the configuration of a model, in the forms that load_model() accepts, without
/// reading weights. Weights are the same for every engine; the cache depends on the options, whose `layer_factory` is
/// called as by an engine.
///
/// Throws what load_model() throws if the header or the configuration is wrong or a tensor is missing or misshapen, and
/// what the engine's constructor throws for options that make no sense for this model. Thread-safe.
memory_estimate estimate_memory(const std::filesystem::path& path, const engine_options& options = {});

}  // namespace cogen
