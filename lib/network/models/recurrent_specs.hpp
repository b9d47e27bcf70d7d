#pragma once

#include <cogen/detail/cache/kv_cache_spec.hpp>

#include <array>
#include <cstdint>

namespace cogen::models {

// Mixers that keep a state of fixed size instead of every token. Their tensors are called as in Transformers. Widths
// are those of the products: into the mixer, to what decides how its state changes, and out of it.

/// C * convolution(B * x) (Liquid AI, arXiv:2511.23404): "in_proj" makes B | C | x, "conv" is the convolution.
struct short_convolution_spec {
  std::int64_t channels = 0;
  std::int64_t taps = 0;  ///< tokens that the convolution reads, the present one included
  bool bias = false;      ///< of all three

  std::int64_t in_width() const { return 3 * channels; }
  static std::int64_t decisions() { return 0; }
  std::int64_t out_width() const { return channels; }
  cache::kv_cache_spec kv() const { return {.kind = cache::layer_kind::recurrent, .state = channels * (taps - 1)}; }
};

/// A gated delta net (Yang, Kautz and Hatamizadeh, arXiv:2412.06464): "in_proj_qkv" goes through the convolution
/// "conv1d", and heads of queries and keys are scaled to a length of 1. Value heads share them, keep a state by the
/// delta rule, are normed by "norm" and gated by silu of "in_proj_z". "in_proj_b" and "in_proj_a" decide what a token
/// adds to the state and how it decays, with "dt_bias" and "A_log". Two of these may be one matrix, with the rows of
/// each key head and its value heads together: "in_proj_qkvz" for "in_proj_qkv" and "in_proj_z", "in_proj_ba" for
/// "in_proj_b" and "in_proj_a".
struct delta_net_spec {
  static constexpr bool bias = false;

  std::int64_t heads = 0;  ///< of values
  std::int64_t key_heads = 0;
  std::int64_t key_width = 0;  ///< of a head
  std::int64_t value_width = 0;
  std::int64_t taps = 0;
  double norm_epsilon = 1e-6;
  bool grouped_qkvz = false;
  bool grouped_ba = false;
  bool tiled = false;  ///< value head h has key head h % key_heads, not h / (heads / key_heads)

  std::int64_t keys() const { return key_heads * key_width; }
  std::int64_t values() const { return heads * value_width; }
  std::int64_t channels() const { return 2 * keys() + values(); }
  std::int64_t in_width() const { return channels() + values(); }
  std::int64_t decisions() const { return 2 * heads; }
  std::int64_t out_width() const { return values(); }
  cache::kv_cache_spec kv() const {
    return {.kind = cache::layer_kind::recurrent, .state = channels() * (taps - 1) + values() * key_width};
  }
};

/// Mamba-2 (Dao and Gu, arXiv:2405.21060): "in_proj" makes z | x | B | C | dt, and "conv1d" is over x, B and C. Each
/// head of x keeps a state, to which the B of its group adds and which its C reads, with "A_log", "dt_bias" and "D".
/// The result is gated by silu of z, and "norm" norms it by groups.
struct mamba2_spec {
  /// Of the result, by groups: behind the gate, before it, or none.
  enum class norm_place : std::uint8_t { behind_gate, before_gate, none };

  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  std::int64_t groups = 1;  ///< of heads, which share B and C
  std::int64_t states = 0;  ///< for each number of a head
  std::int64_t taps = 0;
  bool bias = false;  ///< of the products into and out of the mixer
  bool convolution_bias = true;
  double norm_epsilon = 1e-5;
  norm_place norm = norm_place::behind_gate;
  std::array<float, 5> scales = {1, 1, 1, 1, 1};  ///< of z, x, B, C and dt, as "in_proj" makes them

  std::int64_t values() const { return heads * head_width; }
  std::int64_t keys() const { return groups * states; }
  std::int64_t channels() const { return values() + 2 * keys(); }
  std::int64_t in_width() const { return values() + channels(); }
  std::int64_t decisions() const { return heads; }
  std::int64_t out_width() const { return values(); }
  cache::kv_cache_spec kv() const {
    return {.kind = cache::layer_kind::recurrent, .state = channels() * (taps - 1) + values() * states};
  }
};

// RWKV's two (Peng et al., arXiv:2305.13048). Their products read mixes of each row and the one before it, m * row +
// (1 - m) * before, with a vector m for each product: "time_mix_key" is that of "key". The last row is in the state.

/// Attention by times: each channel of "value" is averaged over all tokens, with weights that are exponentials of "key"
/// and decay by "time_decay" with each token; the present one's has "time_first" added. It is gated by sigmoid of
/// "receptance" and goes through "output".
struct time_mix_spec {
  std::int64_t inputs = 0;
  std::int64_t channels = 0;

  /// The last row, then sums of weighted values, sums of weights, and the exponents that both are relative to.
  cache::kv_cache_spec kv() const { return {.kind = cache::layer_kind::recurrent, .state = inputs + 3 * channels}; }
};

/// A feed-forward: "value" of relu(key)^2, gated by sigmoid of "receptance".
struct channel_mix_spec {
  std::int64_t inputs = 0;
  std::int64_t intermediate = 0;

  cache::kv_cache_spec kv() const { return {.kind = cache::layer_kind::recurrent, .state = inputs}; }
};

}  // namespace cogen::models
