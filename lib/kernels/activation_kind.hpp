#pragma once

#include <cstdint>

namespace cogen::kernels {

/// What a feed-forward bends its inputs with.
enum class activation : std::uint8_t {
  silu,       // x / (1 + e^-x)
  gelu,       // x Φ(x), by the error function (Hendrycks and Gimpel, arXiv:1606.08415)
  gelu_tanh,  // x / 2 (1 + tanh(sqrt(2 / π) (x + 0.044715 x^3))), the same paper's approximation
  relu,       // max(x, 0)
};

}  // namespace cogen::kernels
