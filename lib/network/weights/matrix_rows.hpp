#pragma once

#include <cogen/load/checkpoint.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen::weights {

/// Rows [first, first + count) of a tensor.
struct row_run {
  std::int64_t first = 0;
  std::int64_t count = 0;

  auto operator<=>(const row_run&) const = default;
};

/// Rows of a matrix, or elements of a vector, of a checkpoint by its Hugging Face name.
struct named_rows {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t stored = 0;         // rows of the tensor; 0: these are all
  std::vector<row_run> runs = {};  // which of them, in this order; none: the first ones
  bool transposed = false;         // stored as [inputs, rows]
  std::int64_t stored_inputs = 0;  // of a row; 0: these are all
  std::int64_t first_input = 0;    // where they begin among those
  std::int64_t stack = 0;          // such matrices in the tensor, which has a dimension more; 0: it is one matrix
  std::int64_t index = 0;          // which of them
  bool may_be_vector = false;      // of a single row: the tensor may be [inputs] instead of [1, inputs]
  bool scaled = true;              // by NAME.scale, if there is one and the matrix is nvfp4

  std::int64_t stored_rows() const { return stored == 0 ? rows : stored; }
  auto operator<=>(const named_rows&) const = default;

  std::vector<row_run> order() const { return runs.empty() ? std::vector<row_run>{{0, rows}} : runs; }
};

/// Reads the named tensor of exactly that shape as float32, in stored order.
using read_numbers =
    std::function<std::vector<float>(const std::string& name, std::initializer_list<std::int64_t> shape)>;

/// Reads the rows that a part names. Cheap to copy; any thread; valid as long as the checkpoint.
class matrix_rows {
 public:
  /// A matrix with rows of `inputs` elements, or without `inputs` a vector. Throws load::load_error if the tensor is
  /// missing or of another shape.
  matrix_rows(const load::checkpoint& files, const named_rows& part, std::optional<std::int64_t> inputs);

  const load::weight& source() const { return source_; }

  /// The tensor NAME.scale beside an nvfp4 NAME.weight, a number for each matrix of a stack; nothing if there is none.
  const std::optional<load::weight>& factor_source() const { return factors_; }

  /// The part's number of it, by which what read() gives is multiplied; 1 if there is none. Reads it from the file.
  float factor() const;

  std::int64_t columns() const { return columns_; }

  /// Of what read() writes: the tensor's, or f32 if it is transposed, or if the inputs begin or end within one of its
  /// quantized blocks.
  element_type type() const;
  std::uint64_t row_bytes() const;

  /// Rows [first, last) in that type; `out` has exactly that size. Throws std::out_of_range or std::invalid_argument
  /// for a wrong range or size, and what load::weight::read_rows() does.
  void read(std::int64_t first, std::int64_t last, std::span<std::byte> out) const;

  /// The same as float32, times the factor.
  void read_as_float(std::int64_t first, std::int64_t last, std::span<float> out) const;

 private:
  bool is_cut() const { return !turned_ && columns_ != source_.columns(); }
  void check(std::int64_t first, std::int64_t last, std::size_t size, std::uint64_t row_size) const;
  template <class Number, class Read>
  void for_each_run(std::int64_t first, std::int64_t last, std::span<Number> out, const Read& read) const;
  bool read_together(std::int64_t first, std::int64_t last, std::span<std::byte> out) const;
  void read_cut(std::int64_t first, std::int64_t last, std::span<std::byte> out) const;
  std::span<const float> turned_values() const;  // [rows, columns]

  struct turned_matrix;

  load::weight source_;
  std::optional<load::weight> factors_;
  std::int64_t index_;  // of the matrix in its stack
  std::vector<row_run> runs_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t first_;                     // row of the tensor where the matrix begins
  std::int64_t first_column_;              // of its rows, where those of the part begin
  std::shared_ptr<turned_matrix> turned_;  // null unless a row is stored as a column; filled by the first read
};

}  // namespace cogen::weights
