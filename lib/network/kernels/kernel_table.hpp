#pragma once

#include "network/kernels/activation_kind.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/weight_storage.hpp"

#include <cogen/detail/cache/view.hpp>

#include <cstddef>
#include <cstdint>

// What the files of one instruction set offer to the others: plain functions over plain values. Those files use nothing
// of the standard library, so that no inline function compiled for a newer processor can replace a portable one.
namespace cogen::kernels {

struct int8_table;

/// y = x W^T (+ bias) (+ y) for `rows` rows and the outputs of lanes [first_lane, last_lane) of one tile.
struct linear_job {
  const std::byte* tile;
  weight_storage storage;
  int first_lane;  // a multiple of 32
  int last_lane;   // at most 64, and at most the outputs that the tile has
  std::int64_t inputs;
  strided_rows<const float> x;  // [rows, inputs]
  strided_rows<float> y;        // [rows, outputs from the tile's lane 0 on]
  std::int64_t rows;            // at most max_linear_rows
  const float* bias;            // [outputs from the tile's lane 0 on], or null
  bool add_to_y;
};

constexpr int max_linear_rows = 128;

struct rms_norm_job {
  float* x;  // [width]
  const float* add;
  const float* weight;
  float weight_offset;
  float epsilon;
  float* out;
  bool add_to_out;
  std::int64_t width;
};

struct layer_norm_job {
  const float* x;  // [width]
  const float* weight;
  const float* bias;
  float epsilon;
  float* out;
  std::int64_t width;
};

struct activation_job {
  activation kind;
  const float* x;       // [width]
  const float* factor;  // or null
  float* out;
  std::int64_t width;
  const float* parameters;  // of xielu and swiglu_oai
};

/// One token: q is rotated in place, k rotated into key, v copied into value (both in the cache's number format).
struct rope_append_job {
  const float* rotation;  // cos [pairs], sin [pairs], or null
  int pairs;
  int first_rotated;  // dimension
  float* q;           // [heads, head_dim]
  const float* k;
  const float* v;
  int heads;
  int kv_heads;
  int head_dim;
  cache::scalar type;
  std::byte* key;  // [kv_heads, head_dim], heads head_stride bytes apart, dimensions key_stride
  std::int64_t key_stride;
  std::byte* value;  // [kv_heads, head_dim], or null: keys hold the values
  std::int64_t head_stride;
};

/// Some queries of heads that share one key head, against spans of 256 tokens.
struct attention_job {
  const cache::kv_view* cache;
  int kv_head;
  int heads;
  std::int64_t queries;         // queries * heads is at most max_attention_rows
  std::int64_t first_position;  // of the first query
  std::int64_t end;             // positions up to here are seen by the last query
  float scale;
  float softcap;                 // 0: none
  const float* slopes;           // [heads], or null
  const float* sink_logits;      // [heads], or null
  const float* distance_biases;  // [heads, 2 * max_distance + 1], or null
  std::int64_t max_distance;
  strided_rows<const float> q;       // [queries, heads, head_dim]
  strided_rows<const float> sink_q;  // the same, as held against sinks, where the cache has some
  std::int64_t first_span;
  std::int64_t last_span;
  strided_rows<float> out;  // [queries, heads, head_dim]; may be q
  float* partials;          // for each span partial_floats(queries * heads, head_dim)
  float* scratch;           // attention_scratch_floats(head_dim), aligned to 64 bytes
  const int8_table* integers;
};

/// Some channels of one sequence's new tokens.
struct causal_convolution_job {
  strided_rows<const float> x;  // [tokens, channels]
  const float* weight;          // [taps, channels], all_channels floats between taps
  const float* bias;            // [channels], or null
  const float* initial_state;   // [taps - 1, channels], likewise
  float* final_state;
  strided_rows<float> out;  // [tokens, channels]
  std::int64_t tokens;
  std::int64_t channels;
  std::int64_t all_channels;
  int taps;
  bool silu;  // of the sum
};

/// Some channels of one sequence's new tokens.
struct selective_scan_job {
  strided_rows<const float> x;     // [tokens, channels]
  strided_rows<const float> gate;  // [tokens, channels]
  strided_rows<const float> step;  // [tokens, channels]
  strided_rows<const float> b;     // [tokens, states]
  strided_rows<const float> c;     // [tokens, states]
  const float* decay;              // [states, channels], all_channels floats between states
  const float* skip;               // [channels]
  const float* initial_state;      // [states, channels], likewise
  float* final_state;
  strided_rows<float> out;  // [tokens, channels]
  std::int64_t tokens;
  std::int64_t channels;
  std::int64_t all_channels;
  std::int64_t states;
};

/// Some columns of one head's state, over one sequence's new tokens.
struct linear_attention_job {
  strided_rows<const float> q;      // [tokens, keys]
  strided_rows<const float> k;      // [tokens, keys]
  strided_rows<const float> v;      // [tokens, columns]
  strided_rows<const float> decay;  // [tokens]
  strided_rows<const float> rate;   // [tokens]
  float skip;
  bool delta;
  const float* initial_state;  // [keys, columns], all_columns floats between keys
  float* final_state;
  strided_rows<float> out;  // [tokens, columns]
  std::int64_t tokens;
  std::int64_t keys;
  std::int64_t columns;
  std::int64_t all_columns;
};

/// One token's heads.
struct head_decay_job {
  const float* x;     // [heads]
  const float* bias;  // [heads]
  const float* rate;  // [heads]
  float* step;        // [heads], or null
  float* decay;       // [heads]
  std::int64_t heads;
};

/// Some channels of one sequence's new tokens.
struct time_mix_job {
  strided_rows<const float> k;     // [tokens, channels]
  strided_rows<const float> v;     // [tokens, channels]
  strided_rows<const float> gate;  // [tokens, channels]
  const float* decay;              // [channels]
  const float* first;              // [channels]
  const float* initial_state;      // [3, channels], all_channels floats between each
  float* final_state;
  strided_rows<float> out;  // [tokens, channels]
  std::int64_t tokens;
  std::int64_t channels;
  std::int64_t all_channels;
};

constexpr int attention_block = 64;
constexpr int attention_span = 256;
constexpr int max_attention_rows = 96;
constexpr int max_head_dim = 1024;
constexpr int largest_lanes = 16;  // of any instruction set

static constexpr std::int64_t divided_up(std::int64_t n, std::int64_t divisor) { return (n + divisor - 1) / divisor; }
static constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t multiple) {
  return divided_up(n, multiple) * multiple;
}

/// Floats of one span's partial result: values, maximum and sum of each row.
static constexpr std::int64_t partial_floats(std::int64_t rows, std::int64_t head_dim) {
  return rows * rounded_up(head_dim, largest_lanes) + 2 * rounded_up(rows, largest_lanes);
}

/// Floats that one row of integers takes, with scales for every 16 of them at most; see code_job.
static constexpr std::int64_t rounded_row_floats(std::int64_t depth) {
  return rounded_up(depth, attention_block) + 2 * divided_up(depth, largest_lanes);
}

/// Floats of scratch that an attention job needs: queries, as given and rounded, keys, tokens, scores, weights and
/// three partial results.
static constexpr std::int64_t attention_scratch_floats(std::int64_t head_dim) {
  return (2 * max_attention_rows + 2 * attention_block) * rounded_up(head_dim, largest_lanes) +
         max_attention_rows * (rounded_row_floats(head_dim) + attention_block + 2) +
         3 * partial_floats(max_attention_rows, head_dim);
}

struct kernel_table {
  void (*linear)(const linear_job& job);
  void (*rms_norm)(const rms_norm_job& job);
  void (*layer_norm)(const layer_norm_job& job);
  void (*activate)(const activation_job& job);
  void (*rope_append)(const rope_append_job& job);
  /// All spans, to out.
  void (*attention)(const attention_job& job);
  /// The spans' own results, to partials, and all of them, to out.
  void (*attention_partials)(const attention_job& job);
  void (*merge_attention_partials)(const attention_job& job);
  void (*causal_convolution)(const causal_convolution_job& job);
  void (*selective_scan)(const selective_scan_job& job);
  void (*linear_attention)(const linear_attention_job& job);
  void (*head_decay)(const head_decay_job& job);
  void (*time_mix)(const time_mix_job& job);
};

extern const kernel_table portable_kernels;
extern const kernel_table avx2_kernels;
extern const kernel_table avx512_kernels;
extern const kernel_table emulated_avx2_kernels;
extern const kernel_table emulated_avx512_kernels;

}  // namespace cogen::kernels
