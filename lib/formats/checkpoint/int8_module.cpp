#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"
#include "formats/checkpoint/row_blocks.hpp"

#include <utility>

namespace cogen::load {
namespace {

constexpr std::uint8_t middle = 128;            // which is what 0 becomes
constexpr float share_of_maximum = 1.0F / 127;  // of bitsandbytes, whose code 127 is the greatest number of a row

class int8_module final : public quantized_module {
 public:
  int8_module(const tensor_file& stored, const module_parts& parts, const tensor_info& scales, std::int64_t groups,
              std::int64_t group)
      : quantized_module(stored, parts.weight_name, type_of(stored, parts, scales, group), parts.weight->shape),
        parts_(parts),
        scales_(&scales),
        groups_(groups),
        group_(group),
        one_scale_(element_count(scales) == 1) {}

 private:
  static element_type type_of(const tensor_file& stored, const module_parts& parts, const tensor_info& scales,
                              std::int64_t group) {
    const bool halves = parts.zero_point == nullptr && &scales == parts.scale && fit_float16(stored, scales);
    return type_of_integers(8, parts.weight->shape.back(), group, halves);
  }

  void read_rows(std::int64_t first, std::int64_t last, std::byte* out) const override {
    const auto columns = static_cast<std::size_t>(inputs()), groups = static_cast<std::size_t>(groups_);
    const auto codes = unsigned_numbers(*parts_.weight, first * inputs(), (last - first) * inputs());
    const auto scale_rows = one_scale_ ? 1 : last - first, first_scale = one_scale_ ? 0 : first * groups_;
    auto scales = read_scales(stored(), *scales_, first_scale, scale_rows * groups_);
    if (scales_ == parts_.row_maxima)
      for (auto& scale : scales) scale *= share_of_maximum;
    const auto zeros = parts_.zero_point == nullptr
                           ? std::vector<std::uint8_t>(scales.size(), middle)
                           : unsigned_numbers(*parts_.zero_point, first_scale, scale_rows * groups_);
    for (std::size_t row = 0; row < static_cast<std::size_t>(last - first); ++row, out += row_bytes()) {
      const auto begin = one_scale_ ? 0 : row * groups;
      write_integers(weight().type,
                     {std::span(codes).subspan(row * columns, columns), std::span(scales).subspan(begin, groups),
                      std::span(zeros).subspan(begin, groups), group_},
                     out);
    }
  }

  std::vector<std::uint8_t> unsigned_numbers(const tensor_info& tensor, std::int64_t first, std::int64_t count) const {
    std::vector<std::uint8_t> numbers(static_cast<std::size_t>(count));
    stored().read(tensor, static_cast<std::uint64_t>(first), std::as_writable_bytes(std::span(numbers)));
    for (auto& number : numbers) number ^= middle;
    return numbers;
  }

  module_parts parts_;
  const tensor_info* scales_;
  std::int64_t groups_;
  std::int64_t group_;
  bool one_scale_;
};

/// bitsandbytes can also store rows in the orders of some processors' registers.
void check_format(const tensor_file& stored, const tensor_info& format) {
  std::byte order{1};
  if (format.type == element_type::u8 && element_count(format) == 1) stored.read(format, 0, {&order, 1});
  if (order != std::byte{0}) refuse_part(stored, format, "u8 0 is read, for rows one after the other");
}

}  // namespace

module_pointer make_int8_module(const tensor_file& stored, const module_parts& parts) {
  const auto& codes = *parts.weight;
  const auto* found = parts.row_maxima != nullptr ? parts.row_maxima : parts.scale;
  const auto& scales = required(stored, found, "NAME_scale or SCB", codes);
  if (parts.row_format != nullptr) check_format(stored, *parts.row_format);
  if (codes.shape.size() != 2) refuse_part(stored, codes, "codes [outputs, inputs] are read");
  if (!is_scale_type(scales.type)) refuse_part(stored, scales, "scales of integers are f32, f16 or bf16");
  const auto outputs = codes.shape[0], inputs = codes.shape[1];
  const auto count = element_count(scales);
  const bool fits = count == 1 || (count % outputs == 0 && scales.shape.front() == outputs);
  if (!fits)
    refuse_part(stored, scales,
                fmt::format("one scale, or [{}, groups] belongs to {}", outputs, in_quotes(codes.name)));
  const auto groups = count == 1 ? 1 : count / outputs;
  if (const auto* zeros = parts.zero_point)
    if (zeros->type != element_type::i8 || element_count(*zeros) != count)
      refuse_part(stored, *zeros, fmt::format("zeros are i8, as many as scales in {}", in_quotes(scales.name)));
  return std::make_unique<const int8_module>(stored, parts, scales, groups,
                                             integer_group_size(stored, scales, groups, inputs));
}

}  // namespace cogen::load
