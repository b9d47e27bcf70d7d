#pragma once

#include <cstdint>

namespace cogen::kernels {

/// What a feed-forward bends its inputs with, and a head its logits.
enum class activation : std::uint8_t {
  silu,          // x / (1 + e^-x)
  gelu,          // x Φ(x), by the error function (Hendrycks and Gimpel, arXiv:1606.08415)
  gelu_tanh,     // x / 2 (1 + tanh(sqrt(2 / π) (x + 0.044715 x^3))), the same paper's approximation
  relu,          // max(x, 0)
  relu_squared,  // max(x, 0)^2 (So et al., arXiv:2109.08668)
  sigmoid,       // 1 / (1 + e^-x)
  xielu,    // p x^2 + b x above 0; n (e^min(x, e) - 1 - x) + b x elsewhere, of parameters p, n, b, e (arXiv:2411.13010)
  softcap,  // c tanh(x / c), of a parameter c, to about 2e-7 c
  swiglu_oai,  // with its factor y: (y + 1) x / (1 + e^(-a x)), x at most l and y in [-l, l], of parameters a, l
};

}  // namespace cogen::kernels
