#pragma once

#include <cogen/load/checkpoint.hpp>
#include <cogen/token.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cogen::test {

/// Llama as its papers write it: every weight dequantized to float32, plain LibTorch operators, no cache, no kernels of
/// ours. What the fast code is compared with.
class reference_llama {
 public:
  explicit reference_llama(const load::checkpoint& files);

  /// The logits after each token. [tokens, vocabulary]
  at::Tensor forward(std::span<const token> tokens) const;

 private:
  struct decoder_layer {
    at::Tensor input_norm, q, k, v, o, mlp_norm, gate, up, down;
  };

  at::Tensor normalize(const at::Tensor& x, const at::Tensor& weight) const;
  at::Tensor rotate(const at::Tensor& heads) const;
  at::Tensor attend(const at::Tensor& x, const decoder_layer& layer) const;

  load::model_config config_;
  at::Tensor embedding_, norm_, head_;
  std::vector<decoder_layer> layers_;
};

}  // namespace cogen::test
