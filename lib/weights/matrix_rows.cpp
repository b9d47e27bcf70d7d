#include "weights/matrix_rows.hpp"

#include "load/element_type.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <span>

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

}  // namespace

struct matrix_rows::turned_matrix {
  std::once_flag once;
  std::vector<float> values;
};

matrix_rows::matrix_rows(const load::checkpoint& files, const named_rows& part, std::optional<std::int64_t> inputs)
    : source_(find(files, part, inputs)),
      runs_(part.order()),
      columns_(inputs.value_or(1)),
      first_(first_row(source_, part, inputs)),
      first_column_(part.first_input),
      turned_(lies_across(source_, part, inputs) ? std::make_shared<turned_matrix>() : nullptr) {}

load::element_type matrix_rows::type() const {
  if (turned_) return load::element_type::f32;
  const auto block = load::layout(source_.type()).elements;
  const bool cuts_blocks = is_cut() && (first_column_ % block != 0 || columns_ % block != 0);
  return cuts_blocks ? load::element_type::f32 : source_.type();
}

std::uint64_t matrix_rows::row_bytes() const {
  const auto [elements, bytes] = load::layout(type());
  return static_cast<std::uint64_t>(columns_ / elements * bytes);
}

template <class Number, class Read>
void matrix_rows::for_each_run(std::int64_t first, std::int64_t last, Number* out, std::int64_t row_size,
                               const Read& read) const {
  std::int64_t begin = 0;  // of the run, among the part's rows
  for (const auto& run : runs_) {
    const auto from = std::max(first, begin), to = std::min(last, begin + run.count);
    if (from < to) read(run.first + from - begin, run.first + to - begin, out + (from - first) * row_size);
    begin += run.count;
  }
}

void matrix_rows::read(std::int64_t first, std::int64_t last, std::byte* out) const {
  if (type() != source_.type()) return read_as_float(first, last, reinterpret_cast<float*>(out));
  if (is_cut()) return read_cut(first, last, out);
  const auto bytes = static_cast<std::int64_t>(source_.row_bytes());
  if (read_together(first, last, bytes, out)) return;
  for_each_run(first, last, out, bytes, [&](std::int64_t from, std::int64_t to, std::byte* at) {
    source_.read_rows(first_ + from, first_ + to, {at, static_cast<std::size_t>((to - from) * bytes)});
  });
}

/// Reads runs that lie close to each other at once, with what is between them.
bool matrix_rows::read_together(std::int64_t first, std::int64_t last, std::int64_t bytes, std::byte* out) const {
  auto begin = std::numeric_limits<std::int64_t>::max(), end = std::int64_t{0};  // of the tensor's rows
  int runs = 0;
  for_each_run(first, last, out, bytes, [&](std::int64_t from, std::int64_t to, std::byte*) {
    begin = std::min(begin, from), end = std::max(end, to), ++runs;
  });
  if (runs < 2 || end - begin > 2 * (last - first)) return false;
  std::vector<std::byte> all(static_cast<std::size_t>((end - begin) * bytes));
  source_.read_rows(first_ + begin, first_ + end, all);
  for_each_run(first, last, out, bytes, [&](std::int64_t from, std::int64_t to, std::byte* at) {
    std::copy_n(all.data() + (from - begin) * bytes, (to - from) * bytes, at);
  });
  return true;
}

/// Reads whole rows and keeps the part's columns.
void matrix_rows::read_cut(std::int64_t first, std::int64_t last, std::byte* out) const {
  const auto [elements, block_bytes] = load::layout(source_.type());
  const auto kept = static_cast<std::int64_t>(row_bytes()), all = static_cast<std::int64_t>(source_.row_bytes());
  std::vector<std::byte> row(source_.row_bytes());
  for_each_run(first, last, out, kept,
               [&, offset = first_column_ / elements * block_bytes](auto from, auto to, auto* at) {
                 row.resize(static_cast<std::size_t>((to - from) * all));
                 source_.read_rows(first_ + from, first_ + to, row);
                 for (std::int64_t index = 0; index < to - from; ++index)
                   std::copy_n(row.data() + index * all + offset, kept, at + index * kept);
               });
}

void matrix_rows::read_as_float(std::int64_t first, std::int64_t last, float* out) const {
  const float* const all = turned_ ? turned() : nullptr;
  std::vector<float> whole;
  for_each_run(first, last, out, columns_, [&](std::int64_t from, std::int64_t to, float* at) {
    if (all) {
      std::copy(all + from * columns_, all + to * columns_, at);
    } else if (is_cut()) {
      whole.resize(static_cast<std::size_t>((to - from) * source_.columns()));
      source_.read_rows_as_float(first_ + from, first_ + to, whole);
      for (std::int64_t index = 0; index < to - from; ++index)
        std::copy_n(whole.data() + index * source_.columns() + first_column_, columns_, at + index * columns_);
    } else {
      source_.read_rows_as_float(first_ + from, first_ + to, {at, static_cast<std::size_t>((to - from) * columns_)});
    }
  });
}

/// Stored row i holds the i-th input of all outputs.
const float* matrix_rows::turned() const {
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
  return turned_->values.data();
}

}  // namespace cogen::weights
