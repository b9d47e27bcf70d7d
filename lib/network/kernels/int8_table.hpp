#pragma once

#include "network/kernels/strided_rows.hpp"
#include "network/kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::cache {
struct quantized_plane;
}

// What the files of one instruction set offer for products of integers: compute_type::int8, and quantized caches. As in
// kernel_table.hpp, nothing of the standard library.
namespace cogen::kernels {

/// Sums of integers are counted from here: the bits of sum_start + n, |n| < 2^22, are the float 1.5 * 2^23 + n, which
/// one multiply-add turns into n * scale.
constexpr std::int32_t sum_start = 0x4b400000;

/// 32 inputs of one row, rounded to 8 bits: input = code * scale, or all of them not numbers where the scale is none.
/// Many groups hold one input that is far larger than the others, the outlier. Its code may have 9 bits, so that the
/// others' are not small because of it: twice as large codes have half the error.
struct activation_group {
  std::int8_t codes[quantized_group];  // -127..127
  float scale;                         // its last two bits are 0, so that products with 1.5 * 2^23 are exact
  float offset;                        // -1.5 * 2^23 * scale
  float scaled_sum;                    // of the inputs
  std::int8_t outlier[4];              // what it has beyond its code, at its place in its quad of codes; else 0
  // sum_start less what weights owe that are biased: by 8, or by 128, times all codes, the first 16, the others.
  std::int32_t starts[4];
  std::uint32_t outlier_at;  // the number of that quad times 4 bytes for each lane of a panel
};

/// Some rows times the outputs of lanes [first_lane, last_lane) of one tile; see linear_job.
struct int8_job {
  const std::byte* tile;
  weight_storage storage;
  int first_lane;
  int last_lane;
  std::int64_t inputs;
  // [rows] of activation_group [inputs / 32], for bf16 weights of bf16 [inputs, made even]
  strided_rows<const std::byte> x;
  strided_rows<float> y;
  std::int64_t rows;  // at most max_int8_rows
  const float* bias;
  bool add_to_y;
  std::int64_t ahead;  // bytes from this tile to the one that is likely to be multiplied next
};

constexpr int max_int8_rows = 128;

/// c [rows, columns] = a [rows, depth] b, of b's numbers [depth, columns] quantized as `form` says. A row of c depends
/// on its row of a alone.
struct code_job {
  const cache::quantized_plane* form = nullptr;
  const std::byte* block = nullptr;  // one head's
  std::int64_t next = 0;             // bytes from there to what is read next
  std::int64_t after = 0;            // and to what is read after that
  int depth = 0;                     // at most max_head_dim
  int columns = 0;                   // whole vectors of any set
  strided_rows<const float> a = {};
  int a_bits = 0;  // 8 or 15, to which a's numbers are rounded
  strided_rows<float> c = {};
  std::int64_t rows = 0;
  float* rounded =
      nullptr;  // [rows, rounded_row_floats(depth)] of round_rows(); null: a is rounded with what it multiplies
};

struct int8_table {
  /// x [inputs] to groups [inputs / 32].
  void (*quantize)(const float* x, std::int64_t inputs, activation_group* groups);
  /// x [inputs] to bf16 [inputs, made even by a zero].
  void (*round)(const float* x, std::int64_t inputs, std::uint16_t* rounded);
  /// Tiles of the quantized storages.
  void (*multiply)(const int8_job& job);
  /// Tiles of bf16; null where the processor has no such products.
  void (*multiply_bf16)(const int8_job& job);
  /// Rounds a, where groups do not go along rows: once for many blocks.
  void (*round_rows)(const code_job& job);
  /// Keys or values of a cache.
  void (*multiply_codes)(const code_job& job);
};

extern const int8_table portable_int8;
extern const int8_table avx2_int8;
extern const int8_table avx512_int8;
extern const int8_table avx512_vnni_int8;
extern const int8_table emulated_avx2_int8;
extern const int8_table emulated_avx512_int8;
extern const int8_table emulated_avx512_vnni_int8;
void avx512_multiply_bf16(const int8_job& job);
void emulated_avx512_multiply_bf16(const int8_job& job);

}  // namespace cogen::kernels
