#pragma once

#include "network/backend/mixer_tensors.hpp"
#include "network/backend/parts.hpp"
#include "network/kernels/packed_weights.hpp"
#include "network/models/model_spec.hpp"
#include "network/weights/qkv_rows.hpp"

#include <cogen/detail/cache/attention_span.hpp>
#include <cogen/load/model_config.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::device {

/// x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset), of each row; a layer norm takes the mean from x first, and
/// adds a bias. Without a weight, x as it is.
struct norm {
  at::Tensor weight;  ///< [inputs]
  double epsilon = 1e-5;
  float weight_offset = 0;
  bool is_layer_norm = false;
  at::Tensor bias = {};  ///< [inputs], or none
};

/// A norm of each `width` neighbors in a row of queries or keys, with weights for all of the row.
struct head_norm {
  norm params;
  std::int64_t width = 0;  ///< a head's, or that of all heads
};

struct attention_shape {
  std::int64_t heads = 0;  ///< of queries
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  float scale = 1;
  float softcap = 0;            ///< scores become cap * tanh(score / cap); 0: they stay
  at::Tensor sink_logits = {};  ///< [heads] float32, a score beside those of the keys, without a value; or none
  at::Tensor slopes = {};       ///< [heads] float32: a score gets slope * (its key's position - the query's); or none

  at::Tensor distance_biases = {};  ///< [heads, 2 * n + 1] float32: a score gets that of its key's position - the
                                    ///< query's, which is cut to [-n, n]; or none

  // Before queries and keys are rotated, or after that.
  float clip = 0;         ///< of queries, keys and values; 0: none
  head_norm q_norm = {};  ///< without a weight there is none
  head_norm k_norm = {};
  head_norm v_norm = {};
  bool norms_after_rotation = false;
  /// Queries are multiplied by 1 + growth * log(1 + floor((position + growth_offset) / growth_length)).
  double growth = 0;
  std::int64_t growth_length = 1;
  std::int64_t growth_offset = 0;

  /// The heads' outputs are multiplied by sigmoid(gate), whose rows [heads * head_dim] follow the values.
  bool output_gate = false;

  std::int64_t first_rotated = 0;  ///< dimension of queries and keys
  std::int64_t latent_dim = 0;     ///< values are the first so many numbers of keys; 0: they follow the keys
  bool shares_kv = false;          ///< there are queries alone, which read what another block has stored

  cache::attention_span within_text = {.causal = false};  ///< what tokens attend to in a text that an encoder reads

  /// Of queries, keys and values side by side.
  std::int64_t qkv_heads() const { return heads + (shares_kv ? 0 : latent_dim > 0 ? 1 : 2) * kv_heads; }
  std::int64_t qkv_width() const { return qkv_heads() * head_dim; }
};

/// Columns of a product from `first` on are added up(down(x)).
struct adapter {
  at::Tensor down;  ///< [rank, inputs]
  at::Tensor up;    ///< [columns, rank]
  std::int64_t first = 0;
};

/// x weights^T + bias, and what adapters add.
struct projection {
  at::Tensor weights;      ///< [outputs, inputs] of the activations' type, or codes of operators::pack()
  at::Tensor bias = {};    ///< [outputs], or none
  at::Tensor scales = {};  ///< those of operators::pack(), of the activations' type; none without codes
  kernels::weight_packing packing = kernels::weight_packing::whole;
  std::vector<adapter> adapters = {};
  bool is_shard = false;  ///< its results are added to those of other ranks

  /// Of the activations.
  at::ScalarType type() const { return (scales.defined() ? scales : weights).scalar_type(); }
};

/// The rows of its weights with these indices, a copy without biases and adapters.
projection rows_of(const projection& linear, const at::Tensor& indices);

/// Its outputs [first, first + count), a view without adapters.
projection outputs_of(const projection& linear, std::int64_t first, std::int64_t count);

/// The angles of each position: that of position p is near[p % positions], rotated further by far[p / positions]. Rows
/// are cosines, then sines. Without tables nothing is rotated.
struct rotation {
  at::Tensor near;  ///< [positions, 2 * pairs] float32
  at::Tensor far;   ///< [multiples, 2 * pairs] float32; the first rotates by nothing
};

/// The angles in caches with room for up to `original_positions` tokens in a slot, and in larger ones.
struct rotations {
  std::int64_t original_positions = 0;
  rotation up_to = {};
  rotation beyond = {};

  const rotation& in(std::int64_t room) const { return room > original_positions ? beyond : up_to; }
};

/// What attention does between its products.
struct heads {
  /// Its numbers are on the device of the weights.
  heads(const tensor_weights& weights, const models::attention_spec& spec, const weights::head_numbers& numbers,
        rotations angles);

  std::int64_t q_width() const { return shape.heads * shape.head_dim; }
  std::int64_t qkv_width() const { return shape.qkv_width() + (shape.output_gate ? q_width() : 0); }
  std::int64_t kv_width() const { return shape.kv_heads * shape.head_dim; }

  attention_shape shape;
  rotations turn;
};

/// What a selective state-space mixer does between its products. With [mixed] = silu(convolution of x) and, of each
/// row, [time step | b | c] = selection(mixed), each part normed:
///
///   d = log(1 + exp(step(time step)))
///   h[n, c] = exp(d[c] * decay[n, c]) * h[n, c] + d[c] * mixed[c] * b[n]
///   out[c] = (sum over n of h[n, c] * c[n] + skip[c] * mixed[c]) * silu(gate[c])
///
/// A slot's state is the convolution's last inputs, [taps - 1, channels], oldest first, then h, [states, channels].
struct selective_scan {
  /// Reads PREFIX + "conv1d", "x_proj", "dt_proj", "A_log" and "D"; with norms also "dt_layernorm", "b_layernorm" and
  /// "c_layernorm". Its products stay in full precision.
  selective_scan(tensor_weights& weights, const std::string& prefix, const models::mamba_spec& spec);

  std::int64_t in_width() const { return 2 * channels(); }
  std::int64_t channels() const { return convolves.channels(); }
  std::int64_t taps() const { return convolves.taps(); }
  std::int64_t states() const { return decay.size(0); }
  std::int64_t rank() const { return step.weights.size(1); }
  std::int64_t bytes() const;

  convolution convolves;
  projection selection;  ///< to time step | b | c
  norm step_norm = {};   ///< without a weight there is none
  norm b_norm = {};
  norm c_norm = {};
  projection step;
  at::Tensor decay;  ///< [states, channels] float32; negative
  at::Tensor skip;   ///< [channels] float32
};

/// The forms of parts on a device.
struct tensors {
  using rows = at::Tensor;
  using table = device::projection;  ///< that takes tokens to logits, where it is a head's, too
  using positions = at::Tensor;
  using projection = device::projection;
  using norm = device::norm;
  using rotation = rotations;
  using heads = device::heads;
  using scan = selective_scan;
  using mixer = device::mixer;

  /// Weights [products, outputs, inputs], and biases if there are any; without weights, the products are quantized.
  using stacked = device::projection;

  using block_part =
      std::variant<parts::attention<tensors>, parts::latent_attention<tensors>, parts::cross_attention<tensors>,
                   parts::mamba<tensors>, parts::recurrent_mixer<tensors>, parts::time_mix<tensors>,
                   parts::channel_mix<tensors>, parts::mlp<tensors>, parts::linear<tensors>,
                   parts::mixture_of_experts<tensors>, parts::layer_input<tensors>, parts::low_rank<tensors>,
                   parts::stream_step<tensors>>;

  static heads make_heads(const tensor_weights& weights, const models::attention_spec& spec,
                          const weights::head_numbers& numbers, rotations turn) {
    return {weights, spec, numbers, std::move(turn)};
  }

  static mixer read_mixer(tensor_weights& weights, const std::string& prefix, const models::mamba2_spec& spec) {
    return mamba2_scan(weights, prefix, spec);
  }
  static mixer read_mixer(tensor_weights& weights, const std::string& prefix, const models::delta_net_spec& spec) {
    return delta_net(weights, prefix, spec);
  }
  static mixer read_mixer(tensor_weights& weights, const std::string& prefix,
                          const models::short_convolution_spec& spec) {
    return short_convolution(weights, prefix, spec);
  }

  /// What they have as one, which they become views of. All have the same shape.
  static stacked stack(const std::vector<projection*>& projections);

  static std::int64_t bytes(const projection& linear);
  static std::int64_t bytes(const norm& params);
};

using channel_mix = parts::channel_mix<tensors>;
using cross_attention = parts::cross_attention<tensors>;
using embedding = parts::embedding<tensors>;
using head = parts::head<tensors>;
using latent_attention = parts::latent_attention<tensors>;
using layer_input = parts::layer_input<tensors>;
using layer_inputs = parts::layer_inputs<tensors>;
using low_rank = parts::low_rank<tensors>;
using stream_step = parts::stream_step<tensors>;
using streams = parts::streams<tensors>;
using time_mix = parts::time_mix<tensors>;
using recurrent_mixer = parts::recurrent_mixer<tensors>;
using mixture_of_experts = parts::mixture_of_experts<tensors>;
using residual = parts::residual<norm>;

}  // namespace cogen::device
