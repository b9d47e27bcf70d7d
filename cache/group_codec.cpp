#include "group_codec.hpp"

#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/half.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace cogen::cache {
namespace {

constexpr float largest_half = 65504;
constexpr int max_dimensions = 1 << 22;  // so that no count of bytes exceeds an int

int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

void check(const group_format& format) {
  if (format.axis != group_axis::token && format.axis != group_axis::channel)
    throw std::invalid_argument("codec: unknown axis " + std::to_string(static_cast<int>(format.axis)));
  if (format.order != row_order::token && format.order != row_order::channel)
    throw std::invalid_argument("codec: unknown order " + std::to_string(static_cast<int>(format.order)));
  if (format.bits != 8 && format.bits != 4 && format.bits != 2)
    throw std::invalid_argument("codec: " + std::to_string(format.bits) + " bits, it has to be 8, 4 or 2");
  const bool tokens = format.axis == group_axis::channel;
  if (tokens ? format.group != 32 && format.group != block_tokens : format.group < 1)
    throw std::invalid_argument("codec: a group of " + std::to_string(format.group) +
                                (tokens ? " tokens, it has to be 32 or 64" : " dimensions, it has to be at least 1"));
}

float rounded_to_half(float number) { return f16_to_f32(f32_to_f16(number)); }

/// The minimum and the scale of one group.
struct scale_of_group {
  float scale;
  float minimum;
};

scale_of_group scale_for(float least, float most, int bits) {
  const float low = rounded_to_half(std::clamp(least, -largest_half, largest_half));
  const float high = std::clamp(most, -largest_half, largest_half);
  const float step = std::max(0.0F, high - low) / static_cast<float>((1 << bits) - 1);
  return {rounded_to_half(std::min(step, largest_half)), low};
}

std::size_t as_size(int n) { return static_cast<std::size_t>(n); }

// The columns of values [rows, columns], one after the other.
std::vector<float> transposed(const float* values, int rows, int columns) {
  std::vector<float> result(as_size(rows) * as_size(columns));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      result[as_size(column * rows + row)] = values[row * columns + column];
  return result;
}

// What the numbers of groups lie between. What is not a number is passed over.
struct value_ranges {
  explicit value_ranges(int groups) : least(as_size(groups), INFINITY), most(as_size(groups), -INFINITY) {}

  // One number to each of some groups.
  void add(int first, const float* values, int count) {
    float* low = least.data() + first;
    float* high = most.data() + first;
    for (int i = 0; i < count; ++i) {
      low[i] = std::min(low[i], values[i]);
      high[i] = std::max(high[i], values[i]);
    }
  }

  std::vector<float> least;
  std::vector<float> most;
};

// Of each group; those without numbers have zeros.
struct group_scales {
  group_scales(const value_ranges& ranges, int bits) : scales(ranges.least.size()), minimums(ranges.least.size()) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (!(ranges.least[i] <= ranges.most[i])) continue;
      const auto [scale, minimum] = scale_for(ranges.least[i], ranges.most[i], bits);
      scales[i] = scale;
      minimums[i] = minimum;
    }
  }

  std::vector<float> scales;
  std::vector<float> minimums;
};

// Adds the codes of some numbers to words, `shift` bits up.
void add_codes(const float* values, const float* minimums, const float* scales, int count, int bits, int shift,
               std::uint32_t* words) {
  constexpr float rounding = 0x1.8p23F;  // a sum with it has what it was rounded to in its lowest bits
  const std::uint32_t most = (1U << bits) - 1;
  const auto max_steps = static_cast<float>(most);
  for (int i = 0; i < count; ++i) {
    const float steps = (values[i] - minimums[i]) / (scales[i] > 0 ? scales[i] : INFINITY);
    const float within = std::min(std::max(0.0F, steps), max_steps);  // and 0 where it is not a number, or all are one
    words[i] |= (std::bit_cast<std::uint32_t>(within + rounding) & most) << shift;
  }
}

class group_codec final : public codec {
 public:
  explicit group_codec(const group_format& format) : format_(format) { check(format); }

  std::string name() const override {
    return "int" + std::to_string(format_.bits) + (format_.axis == group_axis::token ? " by token" : " by channel");
  }

  std::int64_t quantized_bytes(int head_dim) const override { return group_layout(format_, head_dim).bytes; }
  const group_format* format() const noexcept override { return &format_; }

  void quantize(const float* values, int head_dim, std::byte* quantized) const override {
    const group_layout layout(format_, head_dim);
    std::memset(quantized, 0, static_cast<std::size_t>(layout.bytes));
    const std::vector<float> by_channel = transposed(values, block_tokens, head_dim);
    const bool token_groups = format_.axis == group_axis::token, token_rows = format_.order == row_order::token;
    const group_scales groups(ranges_of(token_groups ? by_channel.data() : values, layout), format_.bits);
    put_codes(token_rows ? values : by_channel.data(), layout, groups, quantized + layout.codes);
    for (std::size_t group = 0; group < groups.scales.size(); ++group) {
      put_half(quantized, group, groups.scales[group]);
      put_half(quantized + layout.minimums, group, groups.minimums[group]);
    }
  }

  bool has_finite_numbers(const std::byte* quantized, int head_dim) const override {
    const exported_run scales_and_minimums{
        .bytes = group_layout(format_, head_dim).codes, .type = scalar::f16, .dims = 1};
    return are_finite({&scales_and_minimums, 1}, {quantized, as_size(static_cast<int>(scales_and_minimums.bytes))});
  }

  void dequantize(const std::byte* quantized, int head_dim, float* values) const override {
    const group_layout layout(format_, head_dim);
    for (int row = 0; row < layout.rows; ++row)
      for (int i = 0; i < layout.length; ++i) {
        const std::size_t group = group_of(layout, row, i);
        const float code = static_cast<float>(code_at(quantized, layout, row, i));
        values[index(head_dim, row, i)] =
            std::fma(code, half_at(quantized, group), half_at(quantized + layout.minimums, group));
      }
  }

 private:
  std::size_t index(int head_dim, int row, int i) const {
    const bool by_token = format_.order == row_order::token;
    return static_cast<std::size_t>(by_token ? row * head_dim + i : i * head_dim + row);
  }

  std::size_t group_of(const group_layout& layout, int row, int i) const {
    return static_cast<std::size_t>(layout.along_rows ? i / format_.group * layout.rows + row
                                                      : row / format_.group * layout.padded + i);
  }

  // Of values where one number of each group stands beside the next group's.
  value_ranges ranges_of(const float* values, const group_layout& layout) const {
    const int lanes = layout.along_rows ? layout.rows : layout.padded;
    const int count = layout.along_rows ? layout.rows : layout.length,
              depth = layout.along_rows ? layout.length : layout.rows;
    value_ranges ranges(layout.groups * lanes);
    for (int i = 0; i < depth; ++i) ranges.add(i / format_.group * lanes, values + i * count, count);
    return ranges;
  }

  // Of values by rows; four rows are words of their own.
  void put_codes(const float* values, const group_layout& layout, const group_scales& groups, std::byte* codes) const {
    std::vector<std::uint32_t> words(as_size(layout.row_bytes));
    std::vector<float> minimums, scales;
    for (int row = 0; row < layout.rows; ++row) {
      if (row % 4 == 0) std::ranges::fill(words, 0);
      if (layout.along_rows) {
        spread(groups.minimums, layout, row, minimums);
        spread(groups.scales, layout, row, scales);
      }
      const int group = row / format_.group * layout.padded;
      const float* minimum = layout.along_rows ? minimums.data() : groups.minimums.data() + group;
      const float* scale = layout.along_rows ? scales.data() : groups.scales.data() + group;
      for (int first = 0, shift = row % 4 * 8; first < layout.length; first += layout.row_bytes, shift += format_.bits)
        add_codes(values + row * layout.length + first, minimum + first, scale + first,
                  std::min(layout.row_bytes, layout.length - first), format_.bits, shift, words.data());
      std::memcpy(codes + std::ptrdiff_t{row / 4 * 4} * layout.row_bytes, words.data(), words.size() * sizeof words[0]);
    }
  }

  // To each number of a row what its group has.
  void spread(const std::vector<float>& of_groups, const group_layout& layout, int row,
              std::vector<float>& output) const {
    output.clear();
    for (int first = 0, group = row; first < layout.length; first += format_.group, group += layout.rows)
      output.insert(output.end(), as_size(std::min(format_.group, layout.length - first)), of_groups[as_size(group)]);
  }

  std::size_t byte_of(const group_layout& layout, int row, int i) const {
    return static_cast<std::size_t>(layout.codes) +
           static_cast<std::size_t>(row / 4 * 4 * layout.row_bytes + 4 * (i % layout.row_bytes) + row % 4);
  }

  int code_at(const std::byte* block, const group_layout& layout, int row, int i) const {
    const int byte = std::to_integer<int>(block[byte_of(layout, row, i)]);
    return byte >> (format_.bits * (i / layout.row_bytes)) & ((1 << format_.bits) - 1);
  }

  static void put_half(std::byte* output, std::size_t index, float value) {
    const std::uint16_t half = f32_to_f16(value);
    std::memcpy(output + index * sizeof(half), &half, sizeof(half));
  }

  static float half_at(const std::byte* input, std::size_t index) {
    std::uint16_t half;
    std::memcpy(&half, input + index * sizeof(half), sizeof(half));
    return f16_to_f32(half);
  }

  group_format format_;
};

std::shared_ptr<const codec> keys_in(int bits, group_axis axis, int group) {
  return make_group_codec({.bits = bits, .axis = axis, .order = row_order::channel, .group = group});
}

std::shared_ptr<const codec> values_in(int bits, int group) {
  return make_group_codec({.bits = bits, .axis = group_axis::token, .order = row_order::token, .group = group});
}

}  // namespace

bool codec::has_finite_numbers(const std::byte* quantized, int head_dim) const {
  std::vector<float> numbers(as_size(block_tokens) * as_size(head_dim));
  dequantize(quantized, head_dim, numbers.data());
  return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
}

group_layout::group_layout(const group_format& format, int head_dim) {
  if (head_dim < 1 || head_dim > max_dimensions)
    throw std::invalid_argument("codec: head_dim is " + std::to_string(head_dim) + ", it may be 1 to " +
                                std::to_string(max_dimensions));
  const bool by_token = format.order == row_order::token;
  rows = by_token ? block_tokens : head_dim;
  length = by_token ? head_dim : block_tokens;
  padded = rounded_up(length, 128 / format.bits);
  row_bytes = padded * format.bits / 8;
  along_rows = by_token == (format.axis == group_axis::token);
  const int along = along_rows ? length : rows;
  groups = (along - 1) / format.group + 1;
  const int scales = groups * (along_rows ? rows : padded);
  minimums = rounded_up(2 * scales, 64);
  codes = 2 * minimums;
  bytes = codes + rounded_up(rows, 4) * row_bytes;
}

quantized_plane plane_of(const codec& quantizer, int head_dim, row_order rows) {
  quantized_plane plane{.quantizer = &quantizer,
                        .dequantize = [](const codec& codec, const std::byte* quantized, int dims, float* values) {
                          codec.dequantize(quantized, dims, values);
                        }};
  const group_format* format = quantizer.format();
  constexpr int widest_vector = 16;
  if (!format || format->order != rows || format->group % widest_vector != 0) return plane;
  const group_layout layout(*format, head_dim);
  plane.bits = format->bits;
  plane.along_rows = layout.along_rows;
  plane.group = format->group;
  plane.rows = layout.rows;
  plane.row_bytes = layout.row_bytes;
  plane.minimums = layout.minimums;
  plane.codes = layout.codes;
  return plane;
}

std::shared_ptr<const codec> make_group_codec(const group_format& format) {
  return std::make_shared<group_codec>(format);
}

quantization int8() { return {.keys = keys_in(8, group_axis::token, 64), .values = values_in(8, 64)}; }

quantization int8_int4() { return {.keys = keys_in(8, group_axis::token, 64), .values = values_in(4, 32)}; }

quantization int4() { return {.keys = keys_in(4, group_axis::channel, 32), .values = values_in(4, 32)}; }

quantization kivi2() { return {.keys = keys_in(2, group_axis::channel, 32), .values = values_in(2, 32)}; }

}  // namespace cogen::cache
