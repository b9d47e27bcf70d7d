#pragma once

#include "layers/forward_context.hpp"

#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cogen::models {

struct device_model;

/// What one family of models is made of: its weights and the order of its blocks. Immutable; any thread may call.
class network {
 public:
  virtual ~network() = default;

  /// What each layer remembers, first layer first.
  virtual const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept = 0;

  /// Runs `tokens` [pass.step.tokens()] and writes the logits after those that `outputs` names (ascending) to `logits`
  /// [outputs, vocabulary]. Arguments are valid: tokens are in the vocabulary, the cache has room.
  virtual void forward(const layers::forward_context& context, std::span<const token> tokens,
                       std::span<const int> outputs, const layers::activations& logits) const = 0;

  /// Whether tokens are decoded beside a source that encode() has read.
  virtual bool has_encoder() const noexcept { return false; }

  /// Reads the sources `tokens` [pass.step.tokens()] and writes what cross layers remember of them. The pass is the
  /// sources': their room is reserved, and their rows begin at 0. Throws std::logic_error where there is no encoder.
  virtual void encode(const layers::forward_context& context, std::span<const token> tokens) const;

  /// Whether positions are looked up in a table that ends, instead of being rotations that never do.
  virtual bool has_position_table() const noexcept { return false; }

  /// Where the network is, if that is not the processor's own memory; null otherwise.
  virtual const device_model* on_device() const noexcept { return nullptr; }

  /// Bytes of weights that one step reads.
  virtual std::int64_t weight_bytes() const noexcept = 0;

  /// The type most of them are stored in.
  virtual std::string_view weight_type() const noexcept = 0;
};

}  // namespace cogen::models
