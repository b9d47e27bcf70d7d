#pragma once

#include "layers/attention.hpp"
#include "layers/cross_attention.hpp"
#include "layers/mamba_mixer.hpp"
#include "layers/mixture_of_experts.hpp"
#include "layers/mlp.hpp"
#include "layers/norm.hpp"
#include "models/model_spec.hpp"

#include <cstdint>
#include <optional>
#include <variant>

namespace cogen::nn {

/// One block of a spec with its weights, on the CPU. Immutable.
class block {
 public:
  using part = std::variant<layers::attention, layers::cross_attention, layers::mamba_mixer, layers::mlp,
                            layers::mixture_of_experts>;

  /// `layer` of the cache is the block's, if it mixes tokens.
  block(const models::block_spec& spec, part what, layers::weight_reader& weights, std::int64_t hidden, int layer);

  /// x = post(x + residual_scale * after(what(before(x)))). x [rows, hidden]
  void operator()(const layers::forward_context& context, const layers::activations& x) const;

  /// out = residual_scale * after(what(before(x))); x and out do not overlap.
  void branch(const layers::forward_context& context, const layers::activations& x,
              const layers::activations& out) const;

  /// Caches keys and values of the encoder's output x. Of a cross attention only.
  void remember(const layers::forward_context& context, const layers::activations& x) const;

  bool is_cross() const { return std::holds_alternative<layers::cross_attention>(what_); }
  bool mixes_tokens() const {
    return !std::holds_alternative<layers::mlp>(what_) && !std::holds_alternative<layers::mixture_of_experts>(what_);
  }

  /// Whether it reads the x that the block before it read.
  bool parallel() const { return parallel_; }

  std::int64_t bytes() const;

 private:
  /// out = what(before(x))
  void run(const layers::forward_context& context, const layers::activations& x, const layers::activations& out) const;

  template <class Use>
  void with_input(const layers::forward_context& context, const layers::activations& x, const Use& use) const;

  part what_;
  std::optional<layers::norm> before_;
  std::optional<layers::norm> after_;
  std::optional<layers::norm> post_;
  float residual_scale_;
  bool parallel_;
  int layer_;
};

}  // namespace cogen::nn
