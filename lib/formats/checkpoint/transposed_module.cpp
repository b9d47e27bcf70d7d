#include "formats/checkpoint/group_index.hpp"
#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"
#include "formats/checkpoint/row_blocks.hpp"

#include <algorithm>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::int64_t awq_bits = 4, awq_columns = 8;  // in a word
constexpr int awq_order[] = {0, 2, 4, 6, 1, 3, 5, 7};  // of nibble i

/// What a module's tensors say of its codes.
struct transposed_codes {
  std::int64_t outputs, inputs;
  int bits;
  std::int64_t groups, group;
  bool awq;                              // a word has columns of a row, in AWQ's order; else rows of a column
  bool lowered_zeros;                    // less by one
  std::vector<std::int32_t> order = {};  // of inputs that are not sorted by their groups
};

/// Columns [first, first + columns) of a matrix of words [rows, all columns].
std::vector<std::uint32_t> read_strip(const tensor_file& file, const tensor_info& tensor, std::int64_t first,
                                      std::int64_t columns) {
  constexpr std::int64_t word = sizeof(std::uint32_t), words_at_once = 1 << 18;
  const auto rows = tensor.shape[0], row_words = tensor.shape[1];
  std::vector<std::uint32_t> strip(static_cast<std::size_t>(rows * columns));
  const auto bytes = std::as_writable_bytes(std::span(strip));
  if (columns == row_words) {
    file.read(tensor, 0, bytes);
    return strip;
  }
  // Rows that are hardly longer than what is wanted of them are read whole, many at a time.
  const bool whole = row_words <= 4 * columns;
  const auto at_once = whole ? std::max<std::int64_t>(1, words_at_once / row_words) : 1;
  std::vector<std::uint32_t> read(whole ? static_cast<std::size_t>(std::min(at_once, rows) * row_words) : 0);
  for (std::int64_t row = 0; row < rows; row += at_once) {
    const auto count = std::min(at_once, rows - row);
    if (!whole) {
      file.read(
          tensor, static_cast<std::uint64_t>((row * row_words + first) * word),
          bytes.subspan(static_cast<std::size_t>(row * columns * word), static_cast<std::size_t>(columns * word)));
      continue;
    }
    const auto words = std::span(read).first(static_cast<std::size_t>(count * row_words));
    file.read(tensor, static_cast<std::uint64_t>(row * row_words * word), std::as_writable_bytes(words));
    for (std::int64_t index = 0; index < count; ++index)
      std::copy_n(words.begin() + index * row_words + first, columns, strip.begin() + (row + index) * columns);
  }
  return strip;
}

/// Of 2, 4 or 8 bits, a word of such codes.
std::uint32_t word_of(std::uint32_t code, int bits) {
  std::uint32_t word = 0;
  for (int bit = 0; bit < word_bits; bit += bits) word |= code << bit;
  return word;
}

class transposed_module final : public quantized_module {
 public:
  transposed_module(const tensor_file& stored, const module_parts& parts, transposed_codes codes, bool symmetric)
      : quantized_module(stored, parts.weight_name, type_of(codes, symmetric), {codes.outputs, codes.inputs}),
        parts_(parts),
        codes_(std::move(codes)) {}

 private:
  static element_type type_of(const transposed_codes& codes, bool symmetric) {
    if (!codes.order.empty()) return element_type::f32;
    return type_of_integers(codes.bits, codes.inputs, codes.group, symmetric);
  }

  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto codes = codes_.awq ? awq_codes(first, last) : gptq_codes(first, last);  // [last - first, inputs]
    const auto zeros = zeros_of(first, last);                                          // [last - first, groups]
    const auto scales = scales_of(first, last);
    const auto inputs = static_cast<std::size_t>(codes_.inputs), groups = static_cast<std::size_t>(codes_.groups);
    for (std::size_t row = 0; row < static_cast<std::size_t>(last - first); ++row, out += row_bytes())
      write_integers(weight().type,
                     {std::span(codes).subspan(row * inputs, inputs), std::span(scales).subspan(row * groups, groups),
                      std::span(zeros).subspan(row * groups, groups), codes_.group, codes_.order},
                     out);
  }

  std::vector<std::uint8_t> awq_codes(std::int64_t first, std::int64_t last) const {
    return nibbles_of(*parts_.turned, codes_.inputs, first, last);
  }

  /// Of words [rows, outputs / 8], the nibbles of some outputs: [last - first, rows].
  std::vector<std::uint8_t> nibbles_of(const tensor_info& tensor, std::int64_t rows, std::int64_t first,
                                       std::int64_t last) const {
    const auto first_word = first / awq_columns, words = (last + awq_columns - 1) / awq_columns - first_word;
    const auto strip = read_strip(stored(), tensor, first_word, words);
    std::vector<std::uint8_t> nibbles(static_cast<std::size_t>((last - first) * rows));
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t word = 0; word < words; ++word) {
        const auto packed = strip[static_cast<std::size_t>(row * words + word)];
        for (int nibble = 0; nibble < awq_columns; ++nibble) {
          const auto output = (first_word + word) * awq_columns + awq_order[nibble];
          if (output >= first && output < last)
            nibbles[static_cast<std::size_t>((output - first) * rows + row)] =
                static_cast<std::uint8_t>(packed >> awq_bits * nibble & 15);
        }
      }
    return nibbles;
  }

  std::vector<std::uint8_t> gptq_codes(std::int64_t first, std::int64_t last) const {
    const auto outputs = last - first, words = parts_.turned->shape[0];
    const auto strip = read_strip(stored(), *parts_.turned, first, outputs);
    std::vector<std::uint32_t> column(static_cast<std::size_t>(words));
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(outputs * codes_.inputs));
    for (std::int64_t output = 0; output < outputs; ++output) {
      for (std::int64_t word = 0; word < words; ++word)
        column[static_cast<std::size_t>(word)] = strip[static_cast<std::size_t>(word * outputs + output)];
      unpack_codes(column, codes_.bits,
                   std::span(codes).subspan(static_cast<std::size_t>(output * codes_.inputs),
                                            static_cast<std::size_t>(codes_.inputs)));
    }
    return codes;
  }

  std::vector<std::uint8_t> zeros_of(std::int64_t first, std::int64_t last) const {
    if (codes_.awq) return nibbles_of(*parts_.turned_zeros, codes_.groups, first, last);
    // From a word on in which a code begins.
    const auto first_word = first / word_bits * codes_.bits,
               last_word = (last * codes_.bits + word_bits - 1) / word_bits;
    const auto words = last_word - first_word;
    auto strip = read_strip(stored(), *parts_.turned_zeros, first_word, words);
    const auto skipped = first % word_bits;
    std::vector<std::uint8_t> zeros(static_cast<std::size_t>((last - first) * codes_.groups));
    for (std::int64_t group = 0; group < codes_.groups; ++group) {
      const auto row =
          std::span(strip).subspan(static_cast<std::size_t>(group * words), static_cast<std::size_t>(words));
      if (codes_.lowered_zeros && codes_.bits != 3)
        for (auto& word : row) word += word_of(1, codes_.bits);  // as GPTQModel took it from whole words
      for (std::int64_t output = 0; output < last - first; ++output) {
        auto zero = code_at(row, codes_.bits, static_cast<std::size_t>((skipped + output) * codes_.bits));
        if (codes_.lowered_zeros && codes_.bits == 3) zero = (zero + 1) & 7;
        zeros[static_cast<std::size_t>(output * codes_.groups + group)] = zero;
      }
    }
    return zeros;
  }

  /// [last - first, groups]
  std::vector<float> scales_of(std::int64_t first, std::int64_t last) const {
    const auto outputs = last - first;
    std::vector<float> scales(static_cast<std::size_t>(outputs * codes_.groups));
    for (std::int64_t group = 0; group < codes_.groups; ++group) {
      const auto row = read_scales(stored(), *parts_.turned_scales, group * codes_.outputs + first, outputs);
      for (std::int64_t output = 0; output < outputs; ++output)
        scales[static_cast<std::size_t>(output * codes_.groups + group)] = row[static_cast<std::size_t>(output)];
    }
    return scales;
  }

  module_parts parts_;
  transposed_codes codes_;
};

[[noreturn]] void refuse_shapes(const tensor_file& stored, const module_parts& parts) {
  refuse(stored.path().string(),
         "{}, {}, and {}; i32 [inputs, outputs / 8] (AWQ, 4 bits) or [inputs * bits / 32, outputs] (GPTQ, 2, 3, 4 or 8 "
         "bits), zeros [groups, outputs * bits / 32] and scales [groups, outputs] belong together",
         description(*parts.turned), description(*parts.turned_zeros), description(*parts.turned_scales));
}

transposed_codes check_parts(const tensor_file& stored, const module_parts& parts, const quantization_method& method) {
  const auto& words = *parts.turned;
  const auto& scales = required(stored, parts.turned_scales, "scales", words);
  const auto& zeros = required(stored, parts.turned_zeros, "qzeros", words);
  const bool sound = words.type == element_type::i32 && words.shape.size() == 2 && zeros.type == element_type::i32 &&
                     zeros.shape.size() == 2 && is_scale_type(scales.type) && scales.shape.size() == 2 &&
                     zeros.shape[0] == scales.shape[0] && element_count(scales) > 0 && element_count(words) > 0;
  if (!sound) refuse_shapes(stored, parts);
  const auto groups = scales.shape[0], outputs = scales.shape[1];
  transposed_codes codes{outputs, words.shape[0], 4, groups, 0, true, method.lowered_zeros};
  const bool is_awq = words.shape[1] * awq_columns == outputs && zeros.shape[1] * awq_columns == outputs;
  if (!is_awq) {
    const auto all_bits = zeros.shape[1] * word_bits;
    const auto bits = all_bits / outputs;
    const bool known = bits == 2 || bits == 3 || bits == 4 || bits == 8;
    if (words.shape[1] != outputs || !known || all_bits != bits * outputs || words.shape[0] * word_bits % bits != 0)
      refuse_shapes(stored, parts);
    codes.awq = false;
    codes.bits = static_cast<int>(bits);
    codes.inputs = words.shape[0] * word_bits / bits;
  }
  codes.group = integer_group_size(stored, scales, groups, codes.inputs);
  codes.order = group_order(stored, parts.group_index, codes.inputs, codes.group);
  return codes;
}

/// Whether float16 holds all scales, and all zeros are in the middle.
bool is_symmetric(const tensor_file& stored, const module_parts& parts, const transposed_codes& codes) {
  if (codes.awq || codes.bits == 3 || !fit_float16(stored, *parts.turned_scales)) return false;
  const auto middle = word_of(1U << (codes.bits - 1), codes.bits);
  const auto expected = codes.lowered_zeros ? middle - word_of(1, codes.bits) : middle;
  const auto zeros = read_strip(stored, *parts.turned_zeros, 0, parts.turned_zeros->shape[1]);
  return std::ranges::all_of(zeros, [&](std::uint32_t word) { return word == expected; });
}

}  // namespace

module_pointer make_transposed_module(const tensor_file& stored, const module_parts& parts,
                                      const quantization_method& method) {
  auto codes = check_parts(stored, parts, method);
  const bool symmetric = method.symmetric && is_symmetric(stored, parts, codes);
  return std::make_unique<const transposed_module>(stored, parts, std::move(codes), symmetric);
}

}  // namespace cogen::load
