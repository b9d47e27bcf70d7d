#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/detail/matrix.hpp>
#include <cogen/model.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::parallel {
class rank_group;
}

namespace cogen::nn {

class pooler;
struct device_model;
struct scratch;

/// A model of one family: its weights and the order of its blocks. Immutable and thread-safe.
class network {
 public:
  virtual ~network() = default;

  /// What each layer caches, first layer first.
  virtual const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept = 0;

  /// As model::make_cache().
  virtual cache::cache make_cache(const cache::options& options, const cache::layer_factory& own) const {
    return {kv_cache_specs(), options, own};
  }

  /// Runs the batch and writes its logits to `logits` [outputs, vocabulary], in host memory. Arguments are valid:
  /// tokens are in the vocabulary, there is one at least, the cache has reserved room for the step.
  virtual void forward(const batch& batch, cache::cache& cache, scratch& scratch, const matrix_view& logits) const = 0;

  /// Whether it has a layer for multi-token prediction. Then predict() comes between forward() and cache.advance().
  virtual bool predicts_tokens() const noexcept { return false; }

  /// Runs that layer over the step that forward() has run. `next` has the same step, the tokens that follow those of
  /// it, and outputs: the tokens whose prediction is wanted. logits [outputs, vocabulary] of the tokens after the next
  /// ones, in host memory. Throws std::logic_error if there is no such layer.
  virtual void predict(const batch& next, cache::cache& cache, scratch& scratch, const matrix_view& logits) const;

  /// Whether it has an encoder, and decodes after encode() has read its input.
  virtual bool has_encoder() const noexcept { return false; }

  /// Reads the batch's encoder inputs and writes what cross layers cache of them. Their room is reserved. Throws
  /// std::logic_error if there is no encoder.
  virtual void encode(const encoder_batch& batch, cache::cache& cache, scratch& scratch) const;

  /// Whether it has a forward().
  virtual bool generates() const noexcept { return true; }

  /// Makes vectors of texts; null if the model does not.
  virtual const pooler* pooling() const noexcept { return nullptr; }

  /// Reads whole texts and pools their hidden states. Texts have tokens of the vocabulary, as many as the model reads
  /// at most. vectors [texts, pooling()->width()], in host memory. Throws std::logic_error without a pooling.
  virtual void embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const;

  /// Whether positions come from a table that ends, and not from rotations.
  virtual bool has_position_table() const noexcept { return false; }

  /// As load_options::device says where its weights are.
  virtual std::string device() const { return "cpu"; }

  /// The model on that device; null on the CPU.
  virtual const device_model* on_device() const noexcept { return nullptr; }

  /// The processes that share the model; null if this is the only one.
  virtual parallel::rank_group* ranks() const noexcept { return nullptr; }

  /// Bytes of weights that one step reads.
  virtual std::int64_t weight_bytes() const noexcept = 0;

  /// The type most of them are stored in.
  virtual std::string_view weight_type() const noexcept = 0;

  /// As model::default_compute_type().
  virtual compute_type default_compute_type() const noexcept { return compute_type::float32; }
};

}  // namespace cogen::nn
