#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"

#include <cstdint>

// Blocks to which codes and scales of Hugging Face folders are joined. Their scales are in float32, which holds those
// of every tool as they are.
namespace cogen::load {

/// w[i] = scale * (nibble - zero). Nibbles as in q4_0_block.
struct [[gnu::packed]] q4_zero_block {
  float scale;
  std::uint8_t zero;
  std::uint8_t nibbles[16];
};

/// w[i] = scale * (codes[i] - zero).
struct [[gnu::packed]] q8_zero_block {
  float scale;
  std::uint8_t zero;
  std::uint8_t codes[32];
};

/// w[i] = scale * codes[i], which are numbers of OCP's E4M3.
struct scaled_e4m3_block {
  float scale;
  std::uint8_t codes[128];
};

/// w[i] = scales[i / 16] * number, of which e2m1_halves[nibble] is twice as much. Nibbles as in q4_0_block.
struct scaled_e2m1_block {
  float scales[2];
  std::uint8_t nibbles[16];
};

static_assert(is_stored_as<q4_zero_block>(element_type::q4_zero));
static_assert(is_stored_as<q8_zero_block>(element_type::q8_zero));
static_assert(is_stored_as<scaled_e4m3_block>(element_type::scaled_e4m3));
static_assert(is_stored_as<scaled_e2m1_block>(element_type::scaled_e2m1));

}  // namespace cogen::load
