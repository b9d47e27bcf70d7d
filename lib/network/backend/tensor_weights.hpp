#pragma once

#include "network/backend/operators.hpp"
#include "network/backend/quantized_rows.hpp"
#include "network/kernels/worker_pool.hpp"
#include "network/weights/named_tensors.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/load_model.hpp>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen::device {

/// The source of a device network's weights.
class tensor_weights {
 public:
  /// Numbers get the type and the device of `like`.
  explicit tensor_weights(at::TensorOptions like) : like_(like) {}
  virtual ~tensor_weights() = default;

  at::Device device() const { return like_.device(); }

  /// NAME + ".weight" of the first of them that there is; the same name for lists of the same names.
  virtual std::string first_of(const std::vector<std::string>& names) { return std::ranges::min(names) + ".weight"; }

  virtual bool has(const std::string&) { return true; }

  /// The named tensor of that shape, which is read on the host.
  virtual std::vector<float> numbers(const std::string& name, std::initializer_list<std::int64_t> shape) = 0;

  weights::read_numbers number_reader() {
    return [this](const std::string& name, std::initializer_list<std::int64_t> shape) { return numbers(name, shape); };
  }

  /// The named matrices, concatenated: [sum of rows, inputs], on the device and in its number format.
  virtual at::Tensor matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) = 0;

  /// The named vectors, concatenated: [sum of rows].
  virtual at::Tensor vector(std::span<const weights::named_rows> parts) = 0;

  /// The product with such matrices, without a bias; it may use fewer bits.
  virtual device::projection projection(std::span<const weights::named_rows> parts, std::int64_t inputs) {
    return {matrix(parts, inputs)};
  }

  /// The matrix of an embedding or of an output; it may use fewer bits, but not as few as others.
  virtual device::projection table(const weights::named_rows& rows, std::int64_t inputs) {
    return {matrix({&rows, 1}, inputs)};
  }

  /// NAME + ".weight" and, if there is one, NAME + ".bias" [width].
  device::norm norm(const models::norm_spec& spec, std::int64_t width);

  at::Tensor as_vector(const std::vector<float>& numbers) const;

  /// Numbers as they are, on the device.
  at::Tensor in_float32(const std::vector<float>& numbers) const;
  at::Tensor in_float32(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// The angles of all positions, and tables of the first `positions` ones.
  device::rotations rotation(const load::rope_config& config, std::int64_t positions) const;

 protected:
  const at::TensorOptions& like() const { return like_; }

 private:
  at::TensorOptions like_;
};

/// How projections are stored, and the operators that pack quantized ones; they must outlive its users.
struct projection_form {
  cogen::device_weights bits = cogen::device_weights::whole;
  device::operators* ops = nullptr;
};

/// Weights of a checkpoint, rounded to one number format. Members throw load::load_error like weight_reader's, and what
/// the progress function throws.
class stored_weights final : public tensor_weights {
 public:
  /// Tensors are read on the threads of `workers`, which must outlive it; null: on the calling thread.
  stored_weights(const load::checkpoint& files, at::TensorOptions like, weights::named_tensors::progress report,
                 const projection_form& form = {}, kernels::worker_pool* workers = nullptr);

  weights::named_tensors& tensors() { return tensors_; }

  std::string first_of(const std::vector<std::string>& names) override { return tensors_.first_of(names); }
  bool has(const std::string& name) override { return tensors_.has(name); }
  std::vector<float> numbers(const std::string& name, std::initializer_list<std::int64_t> shape) override;
  at::Tensor matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) override;
  at::Tensor vector(std::span<const weights::named_rows> parts) override;
  device::projection projection(std::span<const weights::named_rows> parts, std::int64_t inputs) override;
  device::projection table(const weights::named_rows& rows, std::int64_t inputs) override;

 private:
  using row_range = weights::row_run;

  void read(const weights::matrix_rows& matrix, const at::Tensor& out);
  at::Tensor read_as_stored(const weights::matrix_rows& matrix, const row_range& which, at::ScalarType type) const;
  at::Tensor read_numbers(const weights::matrix_rows& matrix, const row_range& which) const;
  std::optional<kernels::weight_packing> packing_of(std::span<const weights::matrix_rows> parts) const;
  std::optional<kernels::weight_packing> packing_of_table(const weights::matrix_rows& matrix) const;
  device::projection read_packed(std::span<const weights::matrix_rows> matrices,
                                 std::span<const weights::named_rows> parts, kernels::weight_packing packing);
  quantized_rows on_device(const quantized_rows& rows) const;
  quantized_rows read_quantized(const weights::matrix_rows& matrix, const row_range& which,
                                kernels::weight_packing packing) const;
  void count(const weights::matrix_rows& read);
  quantized_rows read_codes(const weights::matrix_rows& matrix, const row_range& which,
                            kernels::weight_packing packing) const;
  void for_each_share(std::int64_t rows, const std::function<void(const row_range&)>& read) const;

  weights::named_tensors tensors_;
  const projection_form form_;
  kernels::worker_pool* const workers_;
};

/// Normally distributed numbers, the same for the same seed and order of calls: for measuring speed.
class random_weights final : public tensor_weights {
 public:
  random_weights(at::TensorOptions like, double deviation, const projection_form& form = {})
      : tensor_weights(like), deviation_(deviation), form_(form) {}

  std::vector<float> numbers(const std::string&, std::initializer_list<std::int64_t> shape) override {
    return std::vector<float>(
        static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
  }

  at::Tensor matrix(std::span<const weights::named_rows> parts, std::int64_t inputs) override;
  at::Tensor vector(std::span<const weights::named_rows> parts) override;
  device::projection projection(std::span<const weights::named_rows> parts, std::int64_t inputs) override;
  device::projection table(const weights::named_rows& rows, std::int64_t inputs) override;

 private:
  device::projection codes(kernels::weight_packing packing, std::int64_t rows, std::int64_t inputs) const;

  const double deviation_;
  const projection_form form_;
};

}  // namespace cogen::device
