#pragma once

#include "network/backend/quantized_rows.hpp"
#include "network/backend/tensors.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cogen::device {

/// What the host knows of a row with several tokens.
struct prompt_row {
  int slot = 0;
  std::int64_t held = 0;   ///< tokens that the slot holds before the step
  std::int64_t count = 0;  ///< new ones
};

/// The new tokens of one step; rows of a single token first. Those may share a slot, with positions in order, unless
/// layers have states. Tensors are int32 and on the device. If all rows have a single token, the host knows only their
/// number, so a captured graph can be replayed for other rows.
struct step_rows {
  at::Tensor ids;              ///< [tokens]; -1: the one that was sampled last in the row's slot
  at::Tensor slots;            ///< [tokens]; -1: a padding row, without a result, behind all others. A step of padding
                               ///< alone may write to slot 0, which is empty then and has memory
  at::Tensor positions;        ///< [tokens], tokens that the slot holds before this one
  at::Tensor encoder_lengths;  ///< [tokens], tokens of the slot's encoder input

  std::int64_t single = 0;  ///< rows of one token

  // The other rows; their tokens follow.
  std::vector<prompt_row> prompts;
  at::Tensor prompt_starts;   ///< [prompts + 1], indices of their tokens, counted from the first of them
  at::Tensor prompt_origins;  ///< [prompts + 1], device_cache::origin() of their slots; the last one is not read
  at::Tensor prompt_lengths;  ///< [prompts], tokens that the slot holds with this step
  std::int64_t longest = 0;   ///< new tokens of a prompt, at most
  std::int64_t reach = 0;     ///< tokens that a prompt's slot holds with this step, at most
};

/// Queries, keys and values of a step's tokens.
struct qkv_rows {
  at::Tensor qkv;     ///< [tokens, (heads + 2 kv_heads) * head_dim], and gates of outputs if there are any
  at::Tensor sink_q;  ///< [tokens, heads * head_dim], queries for sinks; none if there are no sinks
};

/// Rows of numbers that a norm reads before a product. The product that wrote them may have begun the norm, by what
/// does not depend on all of a row.
struct norm_input {
  norm_input(at::Tensor rows) : x(std::move(rows)) {}
  norm_input(at::Tensor rows, at::Tensor times_weights, at::Tensor sums)
      : x(std::move(rows)), weighted(std::move(times_weights)), squares(std::move(sums)) {}

  at::Tensor x;         ///< [rows, width]
  at::Tensor weighted;  ///< [rows, width], x times the norm's weights, of their type; or none
  at::Tensor squares;   ///< [rows, width / squared_numbers, rounded up] float32: sums of that many squares of x
};

/// Neighbors in a row whose squares are added up.
inline constexpr std::int64_t squared_numbers = 16;

/// Norms of more rows than these are not begun by a product.
inline constexpr std::int64_t max_deferred_rows = 64;

/// What the products of a recurrent mixer make of a step's tokens.
struct mixer_rows {
  at::Tensor in;         ///< [tokens, in_width]
  at::Tensor decisions;  ///< [tokens, decisions] float32
};

/// The sampling parameters of one step's rows, on the device.
struct step_sampling {
  at::Tensor rows;    ///< [rows * sizeof(sampling_row)] bytes
  at::Tensor biases;  ///< sampling_lists::biases, in bytes
  at::Tensor counts;  ///< sampling_lists::counts, in bytes
  at::Tensor masks;   ///< sampling_lists::masks, in bytes
  at::Tensor raw;     ///< [biases + counts] float32: room for these tokens' logits as they came
};

/// What sampling them returns, on the device. Token 0 where the status is not `ok`.
struct step_samples {
  at::Tensor tokens;    ///< [rows] int32
  at::Tensor statuses;  ///< [rows] uint8 (sampling_status)
  at::Tensor logprobs;  ///< [rows] float32, of the tokens; of rows that ask for them
  at::Tensor top;       ///< [sampling_lists::top_logprobs * sizeof(token_logprob)] bytes
};

/// The operators of networks on one kind of device. Results are written to tensors that the caller owns; calls only
/// enqueue work on the device's current stream. Activations have the weights' type; the residual stream `x` is float32.
/// Used by one thread at a time.
class operators {
 public:
  virtual ~operators() = default;

  /// Whether a token's bits depend on how many rows a call has, and a forward whose bits must not depend on its batch
  /// makes its calls for one token at a time, in the order of the step.
  virtual bool runs_single_tokens() const noexcept { return false; }

  /// Bytes of the keys and values of one head in 64 quantized tokens. Throws std::invalid_argument, with the reason,
  /// for formats or a head_dim that this device does not support.
  virtual std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                            std::int64_t head_dim) = 0;

  /// Where numbers lie in these bytes. Default: it is not known.
  virtual cache::quantized_head quantized_head_numbers(const cache::group_format& /*keys*/,
                                                       const cache::group_format& /*values*/,
                                                       std::int64_t /*head_dim*/) const {
    return {};
  }

  /// The codes and scales of a product in the form in which it takes them.
  virtual quantized_rows pack(const quantized_rows& rows) = 0;

  /// x[i] = what `embeddings` have for ids[i]; if the id is -1, for the token last sampled in its slot. last [slots]
  /// int32, x [tokens, hidden] float32
  virtual void embed(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                     const at::Tensor& x) = 0;

  /// The same in two steps: found = what the table has, zeros for tokens of another shard of the vocabulary; then x =
  /// what is made of that. found [tokens, embeddings.width] float32
  virtual void find_vectors(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                            const at::Tensor& found) = 0;
  virtual void finish_embedding(const embedding& embeddings, const step_rows& rows, const at::Tensor& found,
                                const at::Tensor& x) = 0;

  /// y = linear(pre_norm(x)). x [rows, inputs] float32, or without a norm of the weights' type; y [rows, outputs], also
  /// of float32
  virtual void norm_linear(const norm_input& x, const norm& pre_norm, const projection& linear,
                           const at::Tensor& y) = 0;

  /// y = f(linear(pre_norm(x))). x [rows, inputs] float32, y [rows, outputs], or half as wide if gated
  virtual void norm_activated(const norm_input& x, const norm& pre_norm, const projection& linear,
                              const parts::activation& function, const at::Tensor& y) = 0;

  /// Adds linear(y) to x as `update` says. y [rows, inputs], x [rows, outputs] float32. Returns whether it has begun
  /// update.next of them, too: it may, where `output` has room for that.
  virtual bool linear_add(const at::Tensor& y, const projection& linear, const residual& update,
                          const norm_input& output) = 0;

  /// out = the tokens' vectors for all layers, of which x are the embeddings. x [tokens, hidden] float32, out
  /// [tokens, vectors.width] float32
  virtual void read_layer_inputs(const layer_inputs& vectors, const step_rows& rows, const at::Tensor& last,
                                 const at::Tensor& x, const at::Tensor& out) = 0;

  /// y = f(part.gate(pre_norm(x))) times a layer's columns of `inputs`. x [rows, hidden] float32, inputs [rows, all
  /// layers' columns] float32, y [rows, part.width]
  virtual void gate_layer_input(const at::Tensor& x, const norm& pre_norm, const layer_input& part,
                                const at::Tensor& inputs, const at::Tensor& y) = 0;

  /// y = n + part.norm(part.right(part.left(n))), where n = pre_norm(x). x, y [rows, hidden] float32
  virtual void low_rank(const at::Tensor& x, const norm& pre_norm, const device::low_rank& part,
                        const at::Tensor& y) = 0;

  /// Streams of hidden states, side by side: makes them from embeddings x, takes a step from and to x, makes x what
  /// they end as, and adds after(linear(y)) to all but the first. states [rows, streams * hidden] float32, x [rows,
  /// hidden] float32
  virtual void start_streams(const streams& part, const at::Tensor& x, const at::Tensor& states) = 0;
  virtual void step_streams(const stream_step& step, const at::Tensor& states, const at::Tensor& x) = 0;
  virtual void join_streams(const streams& part, const at::Tensor& states, const at::Tensor& x) = 0;
  virtual void linear_add_to_streams(const at::Tensor& y, const projection& linear, const norm& after,
                                     const at::Tensor& states) = 0;

  /// Adds rows to x as `update` says. Both [rows, hidden] float32
  virtual void add_rows(const at::Tensor& rows, const residual& update, const at::Tensor& x) = 0;

  /// normed = pre_norm(x), and shares = those of the experts in each row's result; 0: not chosen. x, normed
  /// [rows, hidden] float32, shares [rows, experts] float32
  virtual void route(const at::Tensor& x, const norm& pre_norm, const mixture_of_experts& moe, const at::Tensor& normed,
                     const at::Tensor& shares) = 0;

  /// Adds to x, as `update` says, the sum of the chosen experts' results for `normed`, times their shares; of those
  /// that `moe` has, if it has a shard of them.
  virtual void add_experts(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& moe,
                           const residual& update, const at::Tensor& x) = 0;

  /// logits = lm_head(pre_norm(x)). x [rows, hidden] float32, logits [rows, vocabulary] float32
  virtual void score(const at::Tensor& x, const norm& pre_norm, const head& lm_head, const at::Tensor& logits) = 0;

  /// Prepares and rotates queries in place, and for sinks also into sink_q. Writes rotated keys and values to their
  /// slots and positions, and quantizes blocks that become due.
  virtual void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                                 const step_rows& rows, const cache::device_layer& layer) = 0;

  /// out [tokens, heads * head_dim]: each query attends to the keys of its slot up to its own position, within its
  /// layer's span. All of a prompt's queries may read quantized what the first of them does.
  virtual void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                      const cache::device_layer& layer, const at::Tensor& out) = 0;

  /// out [tokens, heads * head_dim]: each query attends to the slot's encoder input, of rows.encoder_lengths tokens. q
  /// [tokens, heads * head_dim]
  virtual void attend_to_encoder_input(const at::Tensor& q, const attention_shape& shape, const step_rows& rows,
                                       const cache::device_layer& layer, const at::Tensor& out) = 0;

  /// out [tokens, heads * head_dim]: each query attends to tokens of its row, a whole text, as shape.within_text says.
  /// qkv as in qkv_rows; queries and keys are prepared and rotated in place
  virtual void attend_within_rows(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn,
                                  const step_rows& rows, const at::Tensor& out) = 0;

  /// Writes keys and values of encoder inputs to the slots and positions of their tokens. kv [tokens, k|v]
  virtual void store_encoder_input(const at::Tensor& kv, const attention_shape& shape, const step_rows& rows,
                                   const cache::device_layer& layer) = 0;

  /// rows = what the heads of latent attention attend with, side by side, then the row that they attend to. in [tokens,
  /// part.in_width()], rows [tokens, part.heads.qkv_width()]
  virtual void absorb(const at::Tensor& in, const latent_attention& part, const at::Tensor& rows) = 0;

  /// out = what the heads make of the sums of latent rows. sums [tokens, part.heads.q_width()], out [tokens,
  /// part.out_width()]
  virtual void expand(const at::Tensor& sums, const latent_attention& part, const at::Tensor& out) = 0;

  /// Convolves, scans and gates, as selective_scan says, from and to the states of the rows' slots. x_and_gate [tokens,
  /// in_width], out [tokens, channels]
  virtual void scan(const at::Tensor& x_and_gate, const selective_scan& mamba, const step_rows& rows,
                    const cache::device_layer& layer, const at::Tensor& out) = 0;

  /// What a recurrent mixer does between its products, from and to the states of the rows' slots. out [tokens,
  /// out_width]
  virtual void mix(const mixer_rows& numbers, const mixer& part, const step_rows& rows,
                   const cache::device_layer& layer, const at::Tensor& out) = 0;

  /// RWKV's attention before its last product, and its feed-forward, of pre_norm(x), from and to the states of the
  /// rows' slots. x [tokens, inputs] float32, out [tokens, channels] and [tokens, inputs]
  virtual void mix_times(const at::Tensor& x, const norm& pre_norm, const time_mix& part, const step_rows& rows,
                         const cache::device_layer& layer, const at::Tensor& out) = 0;
  virtual void mix_channels(const at::Tensor& x, const norm& pre_norm, const channel_mix& part, const step_rows& rows,
                            const cache::device_layer& layer, const at::Tensor& out) = 0;

  /// Samples the token after each row of `logits` [rows, vocabulary] float32, and modifies them: writes `samples`, and
  /// in `last` the token of the row's slot. Rows of a token that is known (sampling_row::scored) write its
  /// log-probability to `samples`. Padding rows and rows sampled on the host are skipped.
  virtual void sample(const at::Tensor& logits, const step_sampling& params, const at::Tensor& last,
                      const step_samples& samples) = 0;
};

}  // namespace cogen::device
