#pragma once

#include <cmath>

// Functions of the C library whose float results differ between processors in the last bits, computed in double and
// rounded: those of double do not differ there once rounded (docs/batch-invariance.md).
namespace cogen::kernels {

inline float rounded_tanh(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
inline float rounded_erf(float x) { return static_cast<float>(std::erf(static_cast<double>(x))); }
inline float rounded_log1p(float x) { return static_cast<float>(std::log1p(static_cast<double>(x))); }

}  // namespace cogen::kernels
