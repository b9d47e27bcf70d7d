#pragma once

#include "network/backend/cpu/norm.hpp"
#include "network/backend/cpu/projection.hpp"
#include "network/backend/cpu/rope.hpp"
#include "network/kernels/tiled_matrix.hpp"
#include "network/kernels/weight_arena.hpp"
#include "network/kernels/worker_pool.hpp"
#include "network/weights/matrix_rows.hpp"
#include "network/weights/named_tensors.hpp"

#include <cogen/load/checkpoint.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::cpu {

/// Reads weights of a checkpoint in the forms in which layers store them.
///
/// Members throw load::load_error if a tensor is missing, of another shape or of a type without a float form, and
/// what the progress function throws.
class weight_reader {
 public:
  /// All of them must outlive the reader.
  weight_reader(const load::checkpoint& files, kernels::worker_pool& workers, weights::named_tensors::progress report);

  /// Checks and counts only, and reads nothing: matrices are empty, and all numbers 0.
  explicit weight_reader(const load::checkpoint& files);

  /// The named matrices, concatenated and tiled in their stored types. [sum of rows, inputs]
  std::shared_ptr<const kernels::tiled_matrix> matrix(std::span<const weights::named_rows> parts, std::int64_t inputs);

  /// The product with such matrices, without a bias.
  cpu::projection projection(std::span<const weights::named_rows> parts, std::int64_t inputs) {
    return {matrix(parts, inputs)};
  }

  /// The matrix of an embedding or of an output.
  std::shared_ptr<const kernels::tiled_matrix> table(const weights::named_rows& rows, std::int64_t inputs) {
    return matrix({&rows, 1}, inputs);
  }

  /// The named vectors, concatenated, as float32. [sum of rows]
  std::vector<float> vector(std::span<const weights::named_rows> parts);

  /// NAME + ".weight" and, if there is one, NAME + ".bias" [width].
  std::optional<cpu::norm> norm(const models::norm_spec& spec, std::int64_t width);

  /// The named tensor of exactly that shape, as float32 in stored order: for what kernels read untiled.
  std::vector<float> numbers(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Calls numbers(). Valid as long as the reader.
  weights::read_numbers number_reader() {
    return [this](const std::string& name, std::initializer_list<std::int64_t> shape) { return numbers(name, shape); };
  }

  static std::vector<float> as_vector(std::vector<float> numbers) { return numbers; }
  static std::vector<float> in_float32(std::vector<float> numbers) { return numbers; }

  /// Rotations of up to `positions` positions.
  static std::shared_ptr<const rope> rotation(const load::rope_config& config, std::int64_t positions) {
    return std::make_shared<const rope>(config, positions);
  }

  std::string first_of(const std::vector<std::string>& names) { return tensors_.first_of(names); }
  bool has(const std::string& name) const { return tensors_.has(name); }
  weights::named_tensors& tensors() { return tensors_; }

  /// Bytes in memory of what was read, in the forms of the layers.
  std::int64_t held_bytes() const { return static_cast<std::int64_t>(held_bytes_); }

  /// The type that most bytes read so far are stored in.
  element_type most_common_type() const;

 private:
  kernels::weight_source source(const weights::matrix_rows& matrix, std::int64_t rows) const;
  void count(const load::weight& read);

  weights::named_tensors tensors_;
  kernels::worker_pool* const workers_;  // null: nothing is read
  kernels::weight_arena memory_;         // of all matrices, which share ownership
  std::uint64_t held_bytes_ = 0;
  std::array<std::uint64_t, element_type_count> bytes_of_type_{};
};

}  // namespace cogen::cpu
