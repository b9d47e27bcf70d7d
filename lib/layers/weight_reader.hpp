#pragma once

#include "kernels/tiled_matrix.hpp"
#include "kernels/weight_arena.hpp"
#include "kernels/worker_pool.hpp"
#include "layers/matrix_rows.hpp"

#include <cogen/load/checkpoint.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::layers {

/// Reads weights of a checkpoint in the forms in which layers store them, and records what was read, how much, and at
/// the end whether the checkpoint holds anything that was not read.
///
/// Members throw load::load_error if a tensor is missing, of another shape or of a type without a float form, and
/// what the progress function throws.
class weight_reader {
 public:
  /// Called after each tensor with how many bytes of the checkpoint have been read.
  using progress = std::function<void(std::uint64_t bytes)>;

  /// All of them must outlive the reader.
  weight_reader(const load::checkpoint& files, kernels::worker_pool& workers, progress report);

  /// Checks and counts only, and reads nothing: matrices are empty, and all numbers 0.
  explicit weight_reader(const load::checkpoint& files);

  /// The first part of names that a checkpoint of a model without its head leaves out: if no tensor has it, it is left
  /// out of all names.
  void set_base(const std::string& base);

  /// The named matrices, concatenated and tiled in their stored types. [sum of rows, inputs]
  std::shared_ptr<const kernels::tiled_matrix> matrix(std::span<const named_rows> parts, std::int64_t inputs);

  /// The named vectors, concatenated, as float32. [sum of rows]
  std::vector<float> vector(std::span<const named_rows> parts);

  /// The named tensor of exactly that shape, as float32 in stored order: for what kernels read untiled.
  std::vector<float> numbers(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Whether the checkpoint holds a tensor of that name.
  bool has(const std::string& name) const;

  /// The checkpoint may hold that tensor, which repeats another or is for training only.
  void pass_over(const std::string& name);

  /// Throws load::load_error, naming it, if the checkpoint holds a tensor that was not read.
  void finish() const;

  /// Bytes in memory of what was read, in the forms of the layers.
  std::int64_t held_bytes() const { return static_cast<std::int64_t>(held_bytes_); }

  /// The type that most bytes read so far are stored in.
  load::element_type most_common_type() const;

 private:
  std::vector<float> read_numbers(const load::weight& from);
  static kernels::weight_source source(const matrix_rows& from, std::int64_t rows);
  void count(const load::weight& read);

  const load::checkpoint& files_;
  missing_base base_;
  kernels::worker_pool* const workers_;  // null: nothing is read
  kernels::weight_arena memory_;         // of all matrices, which share ownership
  progress report_;
  std::string last_counted_;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::array<std::uint64_t, 32> bytes_of_type_{};
};

}  // namespace cogen::layers
