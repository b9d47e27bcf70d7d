#pragma once

#include "backend/cpu/forward_context.hpp"

#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cogen::nn {

struct device_model;

/// A model of one family: its weights and the order of its blocks. Immutable and thread-safe.
class network {
 public:
  virtual ~network() = default;

  /// What each layer caches, first layer first.
  virtual const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept = 0;

  /// Runs `tokens` [context.step.tokens()] and writes the logits after those that `outputs` names (ascending) to
  /// `logits` [outputs, vocabulary]. Arguments are valid: tokens are in the vocabulary, the cache has room.
  virtual void forward(const cpu::forward_context& context, std::span<const token> tokens, std::span<const int> outputs,
                       const cpu::activations& logits) const = 0;

  /// Whether it has an encoder, and decodes after encode() has read its input.
  virtual bool has_encoder() const noexcept { return false; }

  /// Reads the encoder inputs `tokens` [context.step.tokens()] and writes what cross layers cache of them. The context
  /// is that of the encoder inputs: their room is reserved, and their rows begin at 0. Throws std::logic_error if there
  /// is no encoder.
  virtual void encode(const cpu::forward_context& context, std::span<const token> tokens) const;

  /// Whether positions come from a table that ends, and not from rotations.
  virtual bool has_position_table() const noexcept { return false; }

  /// Where the network is, if not in host memory; null otherwise.
  virtual const device_model* on_device() const noexcept { return nullptr; }

  /// Bytes of weights that one step reads.
  virtual std::int64_t weight_bytes() const noexcept = 0;

  /// The type most of them are stored in.
  virtual std::string_view weight_type() const noexcept = 0;
};

}  // namespace cogen::nn
