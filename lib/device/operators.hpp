#pragma once

#include "kernels/activation_kind.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

namespace cogen::device {

/// What the host knows of a row with several tokens.
struct prompt_row {
  int slot = 0;
  std::int64_t held = 0;   ///< tokens that the slot holds before the step
  std::int64_t count = 0;  ///< new ones
};

/// The new tokens of one step; rows of a single token first. Tensors are int32 and on the device. If all rows have a
/// single token, the host knows only their number, so a captured graph can be replayed for other rows.
struct step_rows {
  at::Tensor ids;        ///< [tokens]; -1: the one that was sampled last in the row's slot
  at::Tensor slots;      ///< [tokens]; -1: a padding row, without a result
  at::Tensor positions;  ///< [tokens], tokens that the slot holds before this one

  std::int64_t single = 0;  ///< rows of one token

  // The other rows; their tokens follow.
  std::vector<prompt_row> prompts;
  at::Tensor prompt_starts;   ///< [prompts + 1], indices of their tokens, counted from the first of them
  at::Tensor prompt_origins;  ///< [prompts + 1], device_cache::origin() of their slots; the last one is not read
  at::Tensor prompt_lengths;  ///< [prompts], tokens that the slot holds with this step
  std::int64_t longest = 0;   ///< new tokens of a prompt, at most
  std::int64_t reach = 0;     ///< tokens that a prompt's slot holds with this step, at most
};

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
  norm by;
  std::int64_t width = 0;  ///< a head's, or that of all heads
};

struct attention_shape {
  std::int64_t heads = 0;  ///< of queries
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  float scale = 1;
  float softcap = 0;       ///< scores become cap * tanh(score / cap); 0: they stay
  at::Tensor slopes = {};  ///< [heads] float32: a score gets slope * (its key's position - the query's); or none

  // Before queries and keys are rotated, or after that.
  float clip = 0;         ///< of queries, keys and values; 0: none
  head_norm q_norm = {};  ///< without a weight there is none
  head_norm k_norm = {};
  bool norms_after_rotation = false;
  double growth = 0;  ///< queries are multiplied by 1 + growth * log(1 + floor(position / growth_length))
  std::int64_t growth_length = 1;
};

/// The function of a feed-forward.
struct activation_shape {
  kernels::activation kind = kernels::activation::silu;
  bool gated = true;                     ///< f(gate) * up, where the product is [gate | up]; otherwise f(up)
  std::array<float, 4> parameters = {};  ///< of xielu
};

/// What becomes of a block's result: x = post(x + scale * after(result)).
struct residual {
  norm after = {};
  float scale = 1;
  norm post = {};
};

/// x weights^T + bias.
struct projection {
  at::Tensor weights;  ///< [outputs, inputs]: of the activations' type, or int8; or the result of operators::quantize()
  at::Tensor bias = {};    ///< [outputs], or none
  at::Tensor scales = {};  ///< bfloat16: [outputs] for int8, [inputs / 32, outputs, 2] for 4 bits; none otherwise
};

/// A table of tokens, and what is added to its rows.
struct embedding {
  at::Tensor table;  ///< [vocabulary, width]
  float scale = 1;
  projection to_hidden = {};  ///< without weights, width is that of hidden states
  at::Tensor positions = {};  ///< [positions, hidden], or none
  norm after = {};
};

/// The last product, [vocabulary, width], and what becomes of logits: cap(scale * (x W^T + bias)).
struct head {
  projection to_width = {};  ///< without weights, width is that of hidden states
  projection product;
  float scale = 1;
  float softcap = 0;
};

/// The angles of each position: that of position p is near[p % positions], rotated further by far[p / positions]. Rows
/// are cosines, then sines. Without tables nothing is rotated.
struct rotation {
  at::Tensor near;  ///< [positions, 2 * pairs] float32
  at::Tensor far;   ///< [multiples, 2 * pairs] float32; the first rotates by nothing
};

/// Queries, keys and values of a step's tokens.
struct qkv_rows {
  at::Tensor qkv;     ///< [tokens, (heads + 2 kv_heads) * head_dim]
  at::Tensor sink_q;  ///< [tokens, heads * head_dim], queries for sinks; none if there are no sinks
};

/// The sampling parameters of one step's rows, on the device.
struct step_sampling {
  at::Tensor rows;    ///< [rows * sizeof(sampling_row)] bytes
  at::Tensor biases;  ///< sampling_lists::biases, in bytes
  at::Tensor counts;  ///< sampling_lists::counts, in bytes
};

/// The operators of networks on one kind of device. Results are written to tensors that the caller owns; calls only
/// enqueue work on the device's current stream. Activations have the weights' type; the residual stream `x` is float32.
/// Used by one thread at a time.
class operators {
 public:
  virtual ~operators() = default;

  /// Bytes of the keys and values of one head in 64 quantized tokens. Throws std::invalid_argument, with the reason,
  /// for formats or a head_dim that this device does not support.
  virtual std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                            std::int64_t head_dim) = 0;

  /// Weights of 4 bits in the form of the products below: (code - 8) * scale + zero. codes [outputs, inputs] uint8,
  /// from 0 to 15. Throws std::invalid_argument, naming it, for a size that this device does not support.
  virtual at::Tensor quantize(const at::Tensor& codes) = 0;

  /// x[i] = what `from` has for ids[i]; if the id is -1, for the token last sampled in its slot. last [slots] int32,
  /// x [tokens, hidden] float32
  virtual void embed(const embedding& from, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) = 0;

  /// y = by(before(x)). x [rows, inputs] float32, y [rows, outputs], also of float32
  virtual void norm_linear(const at::Tensor& x, const norm& before, const projection& by, const at::Tensor& y) = 0;

  /// y = f(by(before(x))). x [rows, inputs] float32, y [rows, outputs], or half as wide if gated
  virtual void norm_activated(const at::Tensor& x, const norm& before, const projection& by,
                              const activation_shape& how, const at::Tensor& y) = 0;

  /// Adds by(y) to x as `how` says. y [rows, inputs], x [rows, outputs] float32
  virtual void linear_add(const at::Tensor& y, const projection& by, const residual& how, const at::Tensor& x) = 0;

  /// logits = by(before(x)). x [rows, hidden] float32, logits [rows, vocabulary] float32
  virtual void score(const at::Tensor& x, const norm& before, const head& by, const at::Tensor& logits) = 0;

  /// Prepares and rotates queries in place, and for sinks also into sink_q. Writes rotated keys and values to their
  /// slots and positions, and quantizes blocks that become due.
  virtual void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                                 const step_rows& rows, const cache::device_layer& layer) = 0;

  /// out [tokens, heads * head_dim]: each query attends to the keys of its slot up to its own position, within its
  /// layer's span. All of a prompt's queries may read quantized what the first of them does.
  virtual void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                      const cache::device_layer& layer, const at::Tensor& out) = 0;

  /// Samples the token after each row of `logits` [rows, vocabulary] float32, and modifies them: writes `tokens` [rows]
  /// int32, `statuses` [rows] uint8 (sampling_status), and in `last` the token of the row's slot. Rows sampled on the
  /// host are skipped.
  virtual void sample(const at::Tensor& logits, const step_sampling& how, const at::Tensor& last,
                      const at::Tensor& tokens, const at::Tensor& statuses) = 0;
};

}  // namespace cogen::device
