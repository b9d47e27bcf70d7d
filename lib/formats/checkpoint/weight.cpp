#include "formats/checkpoint/dequantize.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/number_check.hpp"
#include "formats/checkpoint/tensor_file.hpp"

#include <cogen/load/checkpoint.hpp>

#include <algorithm>
#include <stdexcept>

namespace cogen::load {
namespace {

constexpr std::uint64_t max_scratch_bytes = 1 << 18;

void check_rows(const weight& w, std::int64_t first, std::int64_t last) {
  if (first < 0 || first > last || last > w.rows()) {
    throw std::out_of_range(
        fmt::format("rows [{}, {}) of {} were asked for; it has {}", first, last, in_quotes(w.name()), w.rows()));
  }
}

void check_size(const weight& w, std::uint64_t size, std::uint64_t needed, std::string_view unit) {
  if (size != needed) {
    throw std::invalid_argument(
        fmt::format("rows of {} take {} {}; room for {} was given", in_quotes(w.name()), needed, unit, size));
  }
}

// In a head of `rows` rows, where the row that rotates halves has as its `row`-th stands among interleaved ones.
std::int64_t interleaved_position(std::int64_t row, std::int64_t rows) {
  const auto half = rows / 2;
  return row < half ? 2 * row : 2 * (row - half) + 1;
}

// Of rows [first, …) of a tensor, as they are stored.
void check_numbers(const tensor_file& file, const tensor_info& tensor, std::int64_t first, std::int64_t columns,
                   std::span<const std::byte> rows) {
  const auto bad = first_bad_number(tensor.type, rows);
  if (!bad) return;
  const auto in_row = columns / layout(tensor.type).elements;
  const auto row = first + bad->block / in_row;
  const auto place =
      tensor.shape.size() < 2
          ? fmt::format("element {}", row)
          : fmt::format("row {}, {} {}", row, is_quantized(tensor.type) ? "block" : "column", bad->block % in_row);
  refuse(file.path().string(), "tensor {} has at {} {}", in_quotes(tensor.name), place, bad->description);
}

}  // namespace

element_type weight::type() const noexcept { return tensor_->type; }
const std::vector<std::int64_t>& weight::shape() const noexcept { return tensor_->shape; }
std::uint64_t weight::bytes() const noexcept { return tensor_->bytes; }

void weight::read_rows(std::int64_t first, std::int64_t last, std::span<std::byte> out) const {
  check_rows(*this, first, last);
  check_size(*this, out.size(), static_cast<std::uint64_t>(last - first) * row_bytes_, "bytes");
  interleaved_head_rows_ == 0 ? read_stored_rows(first, last, out.data())
                              : read_interleaved_rows(first, last, out.data());
}

void weight::read_stored_rows(std::int64_t first, std::int64_t last, std::byte* out) const {
  const auto offset = static_cast<std::uint64_t>(first) * row_bytes_;
  const auto size = static_cast<std::size_t>(last - first) * static_cast<std::size_t>(row_bytes_);
  file_->read(*tensor_, offset, {out, size});
  check_numbers(*file_, *tensor_, first, columns_, {out, size});
}

void weight::read_interleaved_rows(std::int64_t first, std::int64_t last, std::byte* out) const {
  const auto head_rows = interleaved_head_rows_;
  const auto bytes = static_cast<std::size_t>(row_bytes_);
  std::vector<std::byte> head(static_cast<std::size_t>(head_rows) * bytes);
  for (auto row = first; row < last;) {
    const auto start = row / head_rows * head_rows;
    read_stored_rows(start, start + head_rows, head.data());
    for (const auto end = std::min(last, start + head_rows); row < end; ++row, out += bytes) {
      const auto* stored = head.data() + static_cast<std::size_t>(interleaved_position(row - start, head_rows)) * bytes;
      std::copy_n(stored, bytes, out);
    }
  }
}

void weight::read_rows_as_float(std::int64_t first, std::int64_t last, std::span<float> out) const {
  check_rows(*this, first, last);
  check_size(*this, out.size(), static_cast<std::uint64_t>((last - first) * columns_), "elements");
  if (!has_float_form(type())) {
    throw load_error(
        fmt::format("tensor {} is stored as {}, which has no float form", in_quotes(name_), to_string(type())));
  }
  const auto chunk =
      static_cast<std::int64_t>(std::max<std::uint64_t>(1, max_scratch_bytes / std::max<std::uint64_t>(1, row_bytes_)));
  std::vector<std::byte> scratch;
  for (auto row = first; row < last; row += chunk) {
    const auto end = std::min(last, row + chunk);
    scratch.resize(static_cast<std::size_t>(end - row) * static_cast<std::size_t>(row_bytes_));
    read_rows(row, end, scratch);
    const auto begin = static_cast<std::size_t>((row - first) * columns_);
    dequantize(type(), scratch, out.subspan(begin, static_cast<std::size_t>((end - row) * columns_)));
  }
}

}  // namespace cogen::load
