#include "network/weights/matrix_rows.hpp"

#include "formats/checkpoint/quantized_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>

namespace cogen::weights {

namespace {

bool is_vector(const load::checkpoint& files, const named_rows& part) {
  const auto found = part.may_be_vector ? files.find(part.name) : std::nullopt;
  return found && found->shape().size() == 1;
}

/// Inputs of a row as the tensor has them.
std::int64_t stored_inputs(const named_rows& part, std::int64_t inputs) {
  return part.stored_inputs == 0 ? inputs : part.stored_inputs;
}

load::weight find(const load::checkpoint& files, const named_rows& part, std::optional<std::int64_t> inputs) {
  std::vector<std::int64_t> shape;
  if (part.stack > 0) shape.push_back(part.stack);
  if (inputs && part.transposed) shape.push_back(stored_inputs(part, *inputs));
  if (!is_vector(files, part)) shape.push_back(part.stored_rows());
  if (inputs && !part.transposed) shape.push_back(stored_inputs(part, *inputs));
  return files.at(part.name, shape);
}

/// Whether what is one row here is not one in the tensor. A vector is a column, but in a stack a row.
bool lies_across(const load::weight& source, const named_rows& part, std::optional<std::int64_t> inputs) {
  if (!inputs) return part.stack > 0;
  return part.transposed || source.shape().size() == 1;
}

/// Row of the tensor where the part's matrix begins.
std::int64_t first_row(const load::weight& source, const named_rows& part, std::optional<std::int64_t> inputs) {
  if (!lies_across(source, part, inputs)) return part.index * part.stored_rows();
  return part.first_input + part.index * (inputs ? stored_inputs(part, *inputs) : 1);
}

/// See factor_source().
std::optional<load::weight> find_factors(const load::checkpoint& files, const load::weight& source,
                                         const named_rows& part) {
  constexpr std::string_view ending = ".weight";
  if (source.type() != element_type::nvfp4 || !part.scaled || !part.name.ends_with(ending)) return std::nullopt;
  const auto name = part.name.substr(0, part.name.size() - ending.size()) + ".scale";
  if (!files.find(name)) return std::nullopt;
  return files.at(name, {std::max<std::int64_t>(part.stack, 1)});
}

/// Of rows of `stored_size`, those `size` that begin at `offset`.
template <class Number>
void keep_columns(std::span<const Number> stored, std::size_t stored_size, std::size_t offset, std::span<Number> rows,
                  std::size_t size) {
  for (std::size_t row = 0; row < rows.size() / size; ++row)
    std::ranges::copy(stored.subspan(row * stored_size + offset, size), rows.subspan(row * size, size).begin());
}

}  // namespace

struct matrix_rows::turned_matrix {
  std::once_flag once;
  std::vector<float> values;
};

matrix_rows::matrix_rows(const load::checkpoint& files, const named_rows& part, std::optional<std::int64_t> inputs)
    : source_(find(files, part, inputs)),
      factors_(find_factors(files, source_, part)),
      index_(part.index),
      runs_(part.order()),
      rows_(part.rows),
      columns_(inputs.value_or(1)),
      first_(first_row(source_, part, inputs)),
      first_column_(part.first_input),
      turned_(lies_across(source_, part, inputs) ? std::make_shared<turned_matrix>() : nullptr) {}

element_type matrix_rows::type() const {
  if (turned_) return element_type::f32;
  const auto block = layout(source_.type()).elements;
  const bool cuts_blocks = is_cut() && (first_column_ % block != 0 || columns_ % block != 0);
  return cuts_blocks ? element_type::f32 : source_.type();
}

std::uint64_t matrix_rows::row_bytes() const {
  const auto [elements, bytes] = layout(type());
  return static_cast<std::uint64_t>(columns_ / elements * bytes);
}

float matrix_rows::factor() const {
  float factor = 1;
  if (factors_) factors_->read_rows_as_float(index_, index_ + 1, {&factor, 1});
  return factor;
}

void matrix_rows::check(std::int64_t first, std::int64_t last, std::size_t size, std::uint64_t row_size) const {
  if (first < 0 || first > last || last > rows_)
    throw std::out_of_range(
        fmt::format("rows [{}, {}) of a part of {} were asked for; it has {}", first, last, source_.name(), rows_));
  const auto needed = static_cast<std::uint64_t>(last - first) * row_size;
  if (size != needed)
    throw std::invalid_argument(
        fmt::format("rows of a part of {} take {}; room for {} was given", source_.name(), needed, size));
}

template <class Number, class Read>
void matrix_rows::for_each_run(std::int64_t first, std::int64_t last, std::span<Number> out, const Read& read) const {
  const auto row_size = first == last ? 0 : out.size() / static_cast<std::size_t>(last - first);
  std::int64_t begin = 0;  // of the run, among the part's rows
  for (const auto& run : runs_) {
    const auto run_begin = std::max(first, begin), run_end = std::min(last, begin + run.count);
    if (run_begin < run_end)
      read(run.first + run_begin - begin, run.first + run_end - begin,
           out.subspan(static_cast<std::size_t>(run_begin - first) * row_size,
                       static_cast<std::size_t>(run_end - run_begin) * row_size));
    begin += run.count;
  }
}

void matrix_rows::read(std::int64_t first, std::int64_t last, std::span<std::byte> out) const {
  check(first, last, out.size(), row_bytes());
  if (turned_ || type() != source_.type()) {
    const std::span values(reinterpret_cast<float*>(out.data()), out.size() / sizeof(float));
    return read_as_float(first, last, values);
  }
  if (is_cut()) return read_cut(first, last, out);
  if (read_together(first, last, out)) return;
  for_each_run(first, last, out, [&](std::int64_t run_begin, std::int64_t run_end, std::span<std::byte> rows) {
    source_.read_rows(first_ + run_begin, first_ + run_end, rows);
  });
}

/// Reads runs that lie close to each other at once, with what is between them.
bool matrix_rows::read_together(std::int64_t first, std::int64_t last, std::span<std::byte> out) const {
  auto begin = std::numeric_limits<std::int64_t>::max(), end = std::int64_t{0};  // of the tensor's rows
  int runs = 0;
  for_each_run(first, last, out, [&](std::int64_t run_begin, std::int64_t run_end, std::span<std::byte>) {
    begin = std::min(begin, run_begin), end = std::max(end, run_end), ++runs;
  });
  if (runs < 2 || end - begin > 2 * (last - first)) return false;
  std::vector<std::byte> stored(static_cast<std::size_t>(end - begin) * source_.row_bytes());
  source_.read_rows(first_ + begin, first_ + end, stored);
  for_each_run(first, last, out, [&](std::int64_t run_begin, std::int64_t, std::span<std::byte> rows) {
    const auto offset = static_cast<std::size_t>(run_begin - begin) * source_.row_bytes();
    std::ranges::copy(std::span(stored).subspan(offset, rows.size()), rows.begin());
  });
  return true;
}

/// Reads whole rows and keeps the part's columns.
void matrix_rows::read_cut(std::int64_t first, std::int64_t last, std::span<std::byte> out) const {
  const auto [elements, block_bytes] = layout(source_.type());
  const auto offset = static_cast<std::size_t>(first_column_ / elements * block_bytes);
  std::vector<std::byte> stored;
  for_each_run(first, last, out, [&](std::int64_t run_begin, std::int64_t run_end, std::span<std::byte> rows) {
    stored.resize(static_cast<std::size_t>(run_end - run_begin) * source_.row_bytes());
    source_.read_rows(first_ + run_begin, first_ + run_end, stored);
    keep_columns<std::byte>(stored, source_.row_bytes(), offset, rows, row_bytes());
  });
}

void matrix_rows::read_as_float(std::int64_t first, std::int64_t last, std::span<float> out) const {
  check(first, last, out.size(), static_cast<std::uint64_t>(columns_));
  const auto columns = static_cast<std::size_t>(columns_), stored_columns = static_cast<std::size_t>(source_.columns());
  const auto turned = turned_ ? turned_values() : std::span<const float>();
  std::vector<float> stored;
  for_each_run(first, last, out, [&](std::int64_t run_begin, std::int64_t run_end, std::span<float> rows) {
    if (turned_) {
      std::ranges::copy(turned.subspan(static_cast<std::size_t>(run_begin) * columns, rows.size()), rows.begin());
    } else if (is_cut()) {
      stored.resize(static_cast<std::size_t>(run_end - run_begin) * stored_columns);
      source_.read_rows_as_float(first_ + run_begin, first_ + run_end, stored);
      keep_columns<float>(stored, stored_columns, static_cast<std::size_t>(first_column_), rows, columns);
    } else {
      source_.read_rows_as_float(first_ + run_begin, first_ + run_end, rows);
    }
  });
  if (!factors_) return;
  for (const float times = factor(); float& value : out) value *= times;
}

/// Stored row i holds the i-th input of all outputs.
std::span<const float> matrix_rows::turned_values() const {
  std::call_once(turned_->once, [&] {
    const auto rows = source_.columns();
    auto& values = turned_->values;
    values.resize(static_cast<std::size_t>(rows * columns_));
    std::vector<float> stored(static_cast<std::size_t>(rows));
    for (std::int64_t input = 0; input < columns_; ++input) {
      source_.read_rows_as_float(first_ + input, first_ + input + 1, stored);
      for (std::int64_t row = 0; row < rows; ++row)
        values[static_cast<std::size_t>(row * columns_ + input)] = stored[static_cast<std::size_t>(row)];
    }
  });
  return turned_->values;
}

}  // namespace cogen::weights
