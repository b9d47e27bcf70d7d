#include "formats/checkpoint/group_index.hpp"
#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"
#include "formats/checkpoint/row_blocks.hpp"

#include <utility>

namespace cogen::load {
namespace {

std::int64_t words_of(std::int64_t codes, std::int64_t bits) { return divided_up(codes * bits, word_bits); }

/// What a module's tensors say of its codes.
struct packed_codes {
  std::int64_t outputs, inputs;
  int bits;
  std::int64_t groups, group;
  bool one_scale;                   // for all rows
  std::vector<std::int32_t> order;  // of inputs that are not sorted by their groups
};

class packed_module final : public quantized_module {
 public:
  packed_module(const tensor_file& stored, const module_parts& parts, packed_codes codes)
      : quantized_module(stored, parts.weight_name, type_of(stored, parts, codes), {codes.outputs, codes.inputs}),
        parts_(parts),
        codes_(std::move(codes)) {}

 private:
  static element_type type_of(const tensor_file& stored, const module_parts& parts, const packed_codes& codes) {
    if (!codes.order.empty()) return element_type::f32;
    const bool halves = parts.zero_point == nullptr && fit_float16(stored, *parts.scale);
    return type_of_integers(codes.bits, codes.inputs, codes.group, halves);
  }

  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto row_words = words_of(codes_.inputs, codes_.bits);
    const auto words = read_words(*parts_.packed, first * row_words, (last - first) * row_words);
    const auto first_scale = codes_.one_scale ? 0 : first, scale_rows = codes_.one_scale ? 1 : last - first;
    const auto scales = read_scales(stored(), *parts_.scale, first_scale * codes_.groups, scale_rows * codes_.groups);
    const auto zeros = zeros_of(first_scale, first_scale + scale_rows);
    const auto groups = static_cast<std::size_t>(codes_.groups), in_row = static_cast<std::size_t>(row_words);
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(codes_.inputs));
    for (std::size_t row = 0; row < static_cast<std::size_t>(last - first); ++row, out += row_bytes()) {
      unpack_codes(std::span(words).subspan(row * in_row, in_row), codes_.bits, codes);
      const auto begin = codes_.one_scale ? 0 : row * groups;
      write_integers(weight().type,
                     {codes, std::span(scales).subspan(begin, groups), std::span(zeros).subspan(begin, groups),
                      codes_.group, codes_.order},
                     out);
    }
  }

  // [last - first, groups], stored as codes that follow one another along the outputs, for each group.
  std::vector<std::uint8_t> zeros_of(std::int64_t first, std::int64_t last) const {
    const auto rows = last - first, groups = codes_.groups;
    std::vector<std::uint8_t> zeros(static_cast<std::size_t>(rows * groups),
                                    static_cast<std::uint8_t>(1 << (codes_.bits - 1)));
    if (parts_.zero_point == nullptr) return zeros;
    const auto first_word = first * codes_.bits / word_bits, words = words_of(last, codes_.bits) - first_word;
    const auto stored_words = read_words(*parts_.zero_point, first_word * groups, words * groups);
    const auto skipped = static_cast<std::size_t>(first * codes_.bits - first_word * word_bits);
    std::vector<std::uint32_t> column(static_cast<std::size_t>(words));
    for (std::int64_t group = 0; group < groups; ++group) {
      for (std::int64_t word = 0; word < words; ++word)
        column[static_cast<std::size_t>(word)] = stored_words[static_cast<std::size_t>(word * groups + group)];
      for (std::int64_t row = 0; row < rows; ++row)
        zeros[static_cast<std::size_t>(row * groups + group)] =
            code_at(column, codes_.bits, skipped + static_cast<std::size_t>(row * codes_.bits));
    }
    return zeros;
  }

  std::vector<std::uint32_t> read_words(const tensor_info& tensor, std::int64_t first, std::int64_t count) const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
    stored().read(tensor, static_cast<std::uint64_t>(first) * sizeof(std::uint32_t),
                  std::as_writable_bytes(std::span(words)));
    return words;
  }

  module_parts parts_;
  packed_codes codes_;
};

std::int64_t stored_inputs(const tensor_file& stored, const module_parts& parts) {
  const auto& shape = required(stored, parts.shape, "NAME_shape", *parts.packed);
  if (shape.type != element_type::i64 || shape.shape != std::vector<std::int64_t>{2})
    refuse_part(stored, shape, "i64 [2] belongs there");
  std::int64_t outputs_inputs[2];
  stored.read(shape, 0, std::as_writable_bytes(std::span(outputs_inputs)));
  const auto& packed = *parts.packed;
  const auto [outputs, inputs] = outputs_inputs;
  if (outputs != packed.shape[0] || inputs < 1 || inputs > packed.shape[1] * word_bits)
    refuse(stored.path().string(), "tensor {} says [{}, {}]; {}", in_quotes(shape.name), outputs, inputs,
           description(packed));
  return inputs;
}

int bits_of(const tensor_file& stored, const tensor_info& packed, std::int64_t inputs) {
  for (int bits = 1; bits <= 8; ++bits)
    if (words_of(inputs, bits) == packed.shape[1]) return bits;
  refuse_part(stored, packed, fmt::format("{} inputs take no such number of words, of 1 to 8 bits each", inputs));
}

packed_codes check_parts(const tensor_file& stored, const module_parts& parts) {
  const auto& packed = *parts.packed;
  const auto& scales = required(stored, parts.scale, "NAME_scale", packed);
  if (packed.shape.size() != 2) refuse_part(stored, packed, "i32 [outputs, words] is read");
  if (!is_scale_type(scales.type)) refuse_part(stored, scales, "scales of integers are f32, f16 or bf16");
  const auto outputs = packed.shape[0], inputs = stored_inputs(stored, parts);
  const auto count = element_count(scales);
  if (count != 1 && (outputs < 1 || count % outputs != 0 || scales.shape.front() != outputs))
    refuse_part(stored, scales,
                fmt::format("one scale, or [{}, groups] belongs to {}", outputs, in_quotes(packed.name)));
  packed_codes codes{outputs,    inputs, bits_of(stored, packed, inputs), count == 1 ? 1 : count / outputs, 0,
                     count == 1, {}};
  codes.group = integer_group_size(stored, scales, codes.groups, inputs);
  if (const auto* zeros = parts.zero_point) {
    const auto words = words_of(codes.one_scale ? 1 : outputs, codes.bits);
    if (zeros->type != element_type::i32 || zeros->shape != std::vector{words, codes.groups})
      refuse_part(stored, *zeros,
                  fmt::format("i32 [{}, {}] belongs to {}", words, codes.groups, in_quotes(packed.name)));
  }
  codes.order = group_order(stored, parts.group_index, inputs, codes.group);
  return codes;
}

}  // namespace

module_pointer make_packed_module(const tensor_file& stored, const module_parts& parts) {
  return std::make_unique<const packed_module>(stored, parts, check_parts(stored, parts));
}

}  // namespace cogen::load
