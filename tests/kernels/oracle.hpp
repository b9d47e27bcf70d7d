#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <vector>

namespace cogen::kernels {

/// A copy of the values in double precision, of the given shape.
inline at::Tensor tensor(const std::vector<float>& values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat).to(at::kDouble);
}

/// The largest difference from the oracle, relative to the oracle's largest value.
inline double error_of(const std::vector<float>& values, const at::Tensor& expected) {
  const at::Tensor difference = tensor(values, expected.sizes()) - expected;
  return difference.abs().max().item<double>() / (expected.abs().max().item<double>() + 1e-30);
}

}  // namespace cogen::kernels
