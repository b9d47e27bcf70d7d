#include "network/backend/stored_rows.hpp"

#include "formats/checkpoint/scaled_blocks.hpp"

#include <cogen/detail/integer_block.hpp>

#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace cogen::device {

namespace {

using kernels::packed_form;
using kernels::weight_packing;

/// Of a type's codes as code_of() has them.
std::optional<packed_form> stored_form(element_type type) {
  switch (type) {
    case element_type::q1_0:
    case element_type::q2_0:
    case element_type::tq1_0:
    case element_type::tq2_0:
      return packed_form{3, 32, false};
    case element_type::q2_k:
      return packed_form{2, 16, true};
    case element_type::q3_k:
      return packed_form{3, 16, false};
    case element_type::q4_0:
      return packed_form{4, 32, false};
    case element_type::q4_1:
    case element_type::q4_k:
    case element_type::q4_zero:
      return packed_form{4, 32, true};
    case element_type::q5_0:
    case element_type::mxfp4:
    case element_type::iq1_s:
    case element_type::iq3_s:
      return packed_form{5, 32, false};
    case element_type::iq1_m:
    case element_type::nvfp4:
      return packed_form{5, 16, false};
    case element_type::q5_1:
    case element_type::q5_k:
      return packed_form{5, 32, true};
    case element_type::q6_k:
      return packed_form{6, 16, false};
    case element_type::iq2_xs:
    case element_type::iq2_s:
      return packed_form{7, 16, false};
    case element_type::iq2_xxs:
    case element_type::iq3_xxs:
      return packed_form{7, 32, false};
    case element_type::q8_0:
    case element_type::iq4_nl:
    case element_type::iq4_xs:
      return packed_form{8, 32, false};
    case element_type::q8_zero:
      return packed_form{8, 32, true};
    case element_type::scaled_e2m1:
      return packed_form{5, 16, false};
    default:
      return std::nullopt;
  }
}

bool holds(const packed_form& form, const packed_form& stored) {
  return form.bits >= stored.bits && form.group <= stored.group && (form.zeros || !stored.zeros) && !form.e2m1;
}

/// Elements i and i + 16 of 32 share a byte.
template <class Block>
int nibble(const Block& block, int i) {
  return block.nibbles[i % 16] >> i / 16 * 4 & 15;
}

template <class Block>
int with_fifth_bit(const Block& block, int i) {
  return nibble(block, i) | (block.fifth_bits[i / 8] >> i % 8 & 1) << 4;
}

// The code of element i; of types with minima, less the middle of those that a code can be.
int code_of(const load::q4_0_block& block, int i) { return nibble(block, i) - 8; }
int code_of(const load::q4_1_block& block, int i) { return nibble(block, i) - 8; }
int code_of(const load::q5_0_block& block, int i) { return with_fifth_bit(block, i) - 16; }
int code_of(const load::q5_1_block& block, int i) { return with_fifth_bit(block, i) - 16; }
int code_of(const load::q8_0_block& block, int i) { return block.quants[i]; }
int code_of(const load::q2_k_block& block, int i) { return block.value(i) - 2; }
int code_of(const load::q3_k_block& block, int i) { return block.value(i) - 4; }
int code_of(const load::q4_k_block& block, int i) { return block.value(i) - 8; }
int code_of(const load::q5_k_block& block, int i) { return block.value(i) - 16; }
int code_of(const load::q6_k_block& block, int i) { return block.value(i) - 32; }
int code_of(const load::iq4_nl_block& block, int i) { return iq4_values[nibble(block, i)]; }
int code_of(const load::iq4_xs_block& block, int i) { return iq4_values[block.value(i)]; }
int code_of(const load::mxfp4_block& block, int i) { return e2m1_halves[nibble(block, i)]; }
int code_of(const load::q4_zero_block& block, int i) { return nibble(block, i) - 8; }
int code_of(const load::q8_zero_block& block, int i) { return block.codes[i] - 128; }
int code_of(const load::scaled_e2m1_block& block, int i) { return e2m1_halves[nibble(block, i)]; }
int code_of(const load::nvfp4_block& block, int i) { return e2m1_halves[block.value(i)]; }

float half(std::uint16_t bits) { return static_cast<float>(c10::Half(bits, c10::Half::from_bits())); }
float half(std::uint16_t bits, int times) { return half(bits) * static_cast<float>(times); }

/// A code stands for code * scale + zero.
struct group_scale {
  float scale;
  float zero = 0;
};

/// Of codes that are less by `middle` than those of which 0 stands for `least`.
group_scale scale_from(float least, float scale, int middle) {
  return {scale, least + static_cast<float>(middle) * scale};
}

template <class Block>
group_scale scale_of_minima(const Block& block, int group, int middle) {
  using load::q4_k_block;
  return scale_from(-half(block.minimum, q4_k_block::minimum_of(block.scales, group)),
                    half(block.scale, q4_k_block::scale_of(block.scales, group)), middle);
}

// Of element i's group.
group_scale scale_of(const load::q4_0_block& block, int) { return {half(block.scale)}; }
group_scale scale_of(const load::q4_1_block& block, int) {
  return scale_from(half(block.minimum), half(block.scale), 8);
}
group_scale scale_of(const load::q5_0_block& block, int) { return {half(block.scale)}; }
group_scale scale_of(const load::q5_1_block& block, int) {
  return scale_from(half(block.minimum), half(block.scale), 16);
}
group_scale scale_of(const load::q8_0_block& block, int) { return {half(block.scale)}; }
group_scale scale_of(const load::q2_k_block& block, int i) {
  return scale_from(-half(block.minimum, block.scales[i / 16] >> 4), half(block.scale, block.scales[i / 16] & 15), 2);
}
group_scale scale_of(const load::q3_k_block& block, int i) { return {half(block.scale, block.scale_of(i / 16) - 32)}; }
group_scale scale_of(const load::q4_k_block& block, int i) { return scale_of_minima(block, i / 32, 8); }
group_scale scale_of(const load::q5_k_block& block, int i) { return scale_of_minima(block, i / 32, 16); }
group_scale scale_of(const load::q6_k_block& block, int i) { return {half(block.scale, block.scales[i / 16])}; }
group_scale scale_of(const load::iq4_nl_block& block, int) { return {half(block.scale)}; }
group_scale scale_of(const load::iq4_xs_block& block, int i) {
  return {half(block.scale, block.scale_of(i / 32) - 32)};
}
group_scale scale_of(const load::mxfp4_block& block, int) { return {std::ldexp(1.0F, block.exponent - 128)}; }
group_scale scale_of(const load::q4_zero_block& block, int) {
  return {block.scale, block.scale * static_cast<float>(8 - block.zero)};
}
group_scale scale_of(const load::q8_zero_block& block, int) {
  return {block.scale, block.scale * static_cast<float>(128 - block.zero)};
}
group_scale scale_of(const load::scaled_e2m1_block& block, int i) { return {block.scales[i / 16] / 2}; }
group_scale scale_of(const load::nvfp4_block& block, int i) { return {block.scale_of(i / 16) / 2}; }

/// MXFP4 as it is.
struct e2m1_block : load::mxfp4_block {};
int code_of(const e2m1_block& block, int i) { return nibble(block, i); }
group_scale scale_of(const e2m1_block& block, int) { return {std::ldexp(1.0F, block.exponent - 127)}; }

/// One that has been taken apart.
template <element_type Type>
struct integers_of {
  integer_block block;
};
template <element_type Type>
int code_of(const integers_of<Type>& block, int i) {
  return table_of(Type).values[block.block.codes[i]];
}
template <element_type Type>
group_scale scale_of(const integers_of<Type>& block, int i) {
  return {table_of(Type).unit * half(block.block.scale, block.block.factors[i / integer_block::group])};
}

template <class Block>
struct stored_block {
  static constexpr std::size_t bytes = sizeof(Block);

  static Block read(const std::byte* source) {
    Block block;
    std::memcpy(&block, source, sizeof block);
    return block;
  }
};
template <element_type Type>
struct stored_block<integers_of<Type>> {
  static constexpr auto bytes = static_cast<std::size_t>(layout(Type).bytes);

  static integers_of<Type> read(const std::byte* source) { return {read_integer_block<Type>(source)}; }
};

template <class Block>
void read_blocks(element_type type, std::span<const std::byte> stored, const quantized_rows& rows) {
  const auto form = kernels::form_of(rows.packing);
  const auto elements = static_cast<int>(layout(type).elements);
  auto* code = static_cast<std::uint8_t*>(rows.codes.mutable_data_ptr());
  auto* scale = rows.scales.mutable_data_ptr<float>();
  for (; !stored.empty(); stored = stored.subspan(stored_block<Block>::bytes)) {
    const auto block = stored_block<Block>::read(stored.data());
    for (int i = 0; i < elements; ++i) *code++ = static_cast<std::uint8_t>(code_of(block, i) + form.middle());
    for (int i = 0; i < elements; i += form.group) {
      const auto group = scale_of(block, i);
      *scale++ = group.scale;
      if (form.zeros) *scale++ = group.zero;
    }
  }
}

}  // namespace

std::optional<weight_packing> packing_of(std::span<const element_type> types) {
  if (std::ranges::all_of(types, [](auto type) { return type == element_type::mxfp4; })) return weight_packing::mxfp4;
  using enum weight_packing;
  for (const auto packing : {int4, int5, int6, int6_zeros, int8_groups, int8_zeros})
    if (std::ranges::all_of(types, [&](auto type) {
          const auto stored = stored_form(type);
          return stored && holds(kernels::form_of(packing), *stored);
        }))
      return packing;
  return std::nullopt;
}

void read_stored_rows(element_type type, std::span<const std::byte> stored, const quantized_rows& rows) {
  switch (type) {
    case element_type::q4_0:
      return read_blocks<load::q4_0_block>(type, stored, rows);
    case element_type::q4_1:
      return read_blocks<load::q4_1_block>(type, stored, rows);
    case element_type::q5_0:
      return read_blocks<load::q5_0_block>(type, stored, rows);
    case element_type::q5_1:
      return read_blocks<load::q5_1_block>(type, stored, rows);
    case element_type::q8_0:
      return read_blocks<load::q8_0_block>(type, stored, rows);
    case element_type::q2_k:
      return read_blocks<load::q2_k_block>(type, stored, rows);
    case element_type::q3_k:
      return read_blocks<load::q3_k_block>(type, stored, rows);
    case element_type::q4_k:
      return read_blocks<load::q4_k_block>(type, stored, rows);
    case element_type::q5_k:
      return read_blocks<load::q5_k_block>(type, stored, rows);
    case element_type::q6_k:
      return read_blocks<load::q6_k_block>(type, stored, rows);
    case element_type::iq4_nl:
      return read_blocks<load::iq4_nl_block>(type, stored, rows);
    case element_type::iq4_xs:
      return read_blocks<load::iq4_xs_block>(type, stored, rows);
    case element_type::mxfp4:
      return kernels::form_of(rows.packing).e2m1 ? read_blocks<e2m1_block>(type, stored, rows)
                                                 : read_blocks<load::mxfp4_block>(type, stored, rows);
    case element_type::q4_zero:
      return read_blocks<load::q4_zero_block>(type, stored, rows);
    case element_type::q8_zero:
      return read_blocks<load::q8_zero_block>(type, stored, rows);
    case element_type::scaled_e2m1:
      return read_blocks<load::scaled_e2m1_block>(type, stored, rows);
    case element_type::iq1_s:
      return read_blocks<integers_of<element_type::iq1_s>>(type, stored, rows);
    case element_type::iq1_m:
      return read_blocks<integers_of<element_type::iq1_m>>(type, stored, rows);
    case element_type::iq2_xxs:
      return read_blocks<integers_of<element_type::iq2_xxs>>(type, stored, rows);
    case element_type::iq2_xs:
      return read_blocks<integers_of<element_type::iq2_xs>>(type, stored, rows);
    case element_type::iq2_s:
      return read_blocks<integers_of<element_type::iq2_s>>(type, stored, rows);
    case element_type::iq3_xxs:
      return read_blocks<integers_of<element_type::iq3_xxs>>(type, stored, rows);
    case element_type::iq3_s:
      return read_blocks<integers_of<element_type::iq3_s>>(type, stored, rows);
    case element_type::tq1_0:
      return read_blocks<integers_of<element_type::tq1_0>>(type, stored, rows);
    case element_type::tq2_0:
      return read_blocks<integers_of<element_type::tq2_0>>(type, stored, rows);
    case element_type::q1_0:
      return read_blocks<integers_of<element_type::q1_0>>(type, stored, rows);
    case element_type::q2_0:
      return read_blocks<integers_of<element_type::q2_0>>(type, stored, rows);
    case element_type::nvfp4:
      return read_blocks<load::nvfp4_block>(type, stored, rows);
    default:
      throw std::logic_error("a matrix of numbers has no codes");
  }
}

}  // namespace cogen::device
