#pragma once

#include "layers/weight_reader.hpp"

#include <cogen/load/checkpoint.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cogen::models {

/// Where a network on a device has its weights from.
class device_weights {
 public:
  virtual ~device_weights() = default;

  /// The named matrices, one below the other: [sum of rows, inputs], on the device and in its number format.
  virtual at::Tensor matrix(std::span<const layers::named_rows> parts, std::int64_t inputs) = 0;

  /// The named vectors, one after the other: [sum of rows].
  virtual at::Tensor vector(std::span<const layers::named_rows> parts) = 0;
};

/// Those of a checkpoint, rounded to one number format. Members throw load::load_error like weight_reader's, and what
/// the progress function throws.
class stored_weights final : public device_weights {
 public:
  stored_weights(const load::checkpoint& files, at::TensorOptions like, layers::weight_reader::progress report);

  at::Tensor matrix(std::span<const layers::named_rows> parts, std::int64_t inputs) override;
  at::Tensor vector(std::span<const layers::named_rows> parts) override;

  /// Throws load::load_error, naming it, if the checkpoint holds a tensor that was not read.
  void finish() const { files_.refuse_others(names_); }

 private:
  void read(const load::weight& from, const at::Tensor& into);

  const load::checkpoint& files_;
  const at::TensorOptions like_;
  const layers::weight_reader::progress report_;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
};

/// Numbers of a normal distribution, the same for the same seed and order of calls: for measuring speed.
class random_weights final : public device_weights {
 public:
  random_weights(at::TensorOptions like, double deviation) : like_(like), deviation_(deviation) {}

  at::Tensor matrix(std::span<const layers::named_rows> parts, std::int64_t inputs) override;
  at::Tensor vector(std::span<const layers::named_rows> parts) override;

 private:
  const at::TensorOptions like_;
  const double deviation_;
};

}  // namespace cogen::models
