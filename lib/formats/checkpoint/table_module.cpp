#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"
#include "formats/checkpoint/row_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::size_t table_size = 16, nested_table_size = 256;
constexpr std::int64_t max_state_bytes = 4096;

/// What bitsandbytes writes beside the tensors, as JSON.
struct quant_state {
  std::int64_t outputs, inputs;
  std::int64_t block;         // numbers that share a maximum
  std::int64_t nested_block;  // maxima that share one of their own; 0: they are numbers
  float offset;               // of maxima that are codes
};

/// w[i] = table[code i] * maximum[i / block], where the rows follow one another.
class table_module final : public quantized_module {
 public:
  table_module(const tensor_file& stored, const module_parts& parts, const quant_state& state)
      : quantized_module(stored, parts.weight_name, element_type::f32, {state.outputs, state.inputs}),
        parts_(parts),
        state_(state) {
    std::ranges::copy(read_scales(stored, *parts.table, 0, table_size), table_.begin());
    if (state.nested_block > 0) nested_table_ = read_scales(stored, *parts.nested_table, 0, nested_table_size);
  }

 private:
  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto begin = first * inputs(), end = last * inputs();
    const auto codes = read_bytes(*parts_.codes(), begin / 2, divided_up(end, 2));
    const auto first_block = begin / state_.block;
    const auto maxima = maxima_of(first_block, divided_up(end, state_.block));
    for (auto number = begin; number < end; ++number, out += sizeof(float)) {
      const auto byte = codes[static_cast<std::size_t>(number / 2 - begin / 2)];
      const auto code = number % 2 == 0 ? byte >> 4 : byte & 15;
      const float value = table_[static_cast<std::size_t>(code)] *
                          maxima[static_cast<std::size_t>(number / state_.block - first_block)];
      std::memcpy(out, &value, sizeof value);
    }
  }

  /// Of blocks [first, last).
  std::vector<float> maxima_of(std::int64_t first, std::int64_t last) const {
    if (state_.nested_block == 0) return read_scales(stored(), *parts_.maxima, first, last - first);
    const auto codes = read_bytes(*parts_.maxima, first, last);
    const auto first_nested = first / state_.nested_block;
    const auto nested = read_scales(stored(), *parts_.nested_maxima, first_nested,
                                    divided_up(last, state_.nested_block) - first_nested);
    std::vector<float> maxima;
    for (auto block = first; block < last; ++block)
      maxima.push_back(nested_table_[codes[static_cast<std::size_t>(block - first)]] *
                           nested[static_cast<std::size_t>(block / state_.nested_block - first_nested)] +
                       state_.offset);
    return maxima;
  }

  std::vector<std::uint8_t> read_bytes(const tensor_info& tensor, std::int64_t first, std::int64_t last) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(last - first));
    stored().read(tensor, static_cast<std::uint64_t>(first), std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  module_parts parts_;
  quant_state state_;
  std::array<float, table_size> table_{};
  std::vector<float> nested_table_;
};

std::string text_of(const tensor_file& stored, const tensor_info& tensor) {
  if (tensor.type != element_type::u8 || element_count(tensor) > max_state_bytes)
    refuse_part(stored, tensor, fmt::format("a text of {} bytes at most belongs there", max_state_bytes));
  std::string text(static_cast<std::size_t>(element_count(tensor)), ' ');
  stored.read(tensor, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

quant_state read_state(const tensor_file& stored, const module_parts& parts) {
  const auto& tensor = required(stored, parts.state, "NAME.quant_state.bitsandbytes__nf4", *parts.codes());
  const auto fields = config_fields::from_json(text_of(stored, tensor),
                                               fmt::format("{}: tensor {}", stored.path().string(), tensor.name));
  constexpr integer_range sizes{1, std::int64_t{1} << 31}, blocks{1, 1 << 20};
  const auto shape = fields.integers("shape", sizes);
  if (shape.size() != 2) fields.refuse("shape", "[outputs, inputs] is read");
  quant_state state{shape[0], shape[1], fields.integer("blocksize", blocks), 0, 0};
  if (parts.nested_maxima != nullptr || parts.nested_table != nullptr) {
    state.nested_block = fields.integer("nested_blocksize", blocks);
    state.offset = static_cast<float>(fields.real("nested_offset", {-3e38, 3e38}));
  }
  return state;
}

void check_numbers(const tensor_file& stored, const tensor_info& tensor, std::int64_t count, element_type type) {
  if (tensor.type != type || element_count(tensor) != count)
    refuse_part(stored, tensor, fmt::format("{} numbers in {} belong there", count, to_string(type)));
}

void check_parts(const tensor_file& stored, const module_parts& parts, const quant_state& state) {
  const auto& codes = *parts.codes();
  const auto numbers = state.outputs * state.inputs;
  check_numbers(stored, codes, divided_up(numbers, 2), element_type::u8);
  check_numbers(stored, required(stored, parts.table, "NAME.quant_map", codes), table_size, element_type::f32);
  const auto maxima = divided_up(numbers, state.block);
  if (state.nested_block == 0) return check_numbers(stored, *parts.maxima, maxima, element_type::f32);
  check_numbers(stored, *parts.maxima, maxima, element_type::u8);
  check_numbers(stored, required(stored, parts.nested_table, "NAME.nested_quant_map", codes), nested_table_size,
                element_type::f32);
  check_numbers(stored, required(stored, parts.nested_maxima, "NAME.nested_absmax", codes),
                divided_up(maxima, state.nested_block), element_type::f32);
}

}  // namespace

module_pointer make_table_module(const tensor_file& stored, const module_parts& parts) {
  const auto state = read_state(stored, parts);
  check_parts(stored, parts, state);
  return std::make_unique<const table_module>(stored, parts, state);
}

}  // namespace cogen::load
