#pragma once

#include "network/backend/cpu/forms.hpp"
#include "network/backend/cpu/forward_context.hpp"
#include "network/kernels/activation.hpp"

#include <cogen/token.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace cogen::cpu {

/// The operators of one forward on the CPU. Results are in the context's arena, until the scratch() ends in which they
/// were made.
class operators {
 public:
  /// `outputs` names the tokens (ascending) whose rows keep() keeps; none: all.
  explicit operators(const forward_context& context, std::optional<std::span<const int>> outputs = {})
      : context_(context), outputs_(outputs) {}

  arena::scope scratch() const { return arena::scope(context_.space); }

  static bool is_empty(const activations& x) { return x.rows == 0; }

  /// The rows of the outputs, which are moved to the front.
  activations keep(const activations& x) const;

  /// Hidden states of the step's tokens. [tokens, hidden]
  activations embed(const parts::embedding<forms>& embeddings, std::span<const token> tokens,
                    std::int64_t hidden) const;

  /// Makes the vectors of the step's tokens for all layers, which gate_layer_input() reads. x [tokens, hidden], the
  /// tokens' embeddings
  void read_layer_inputs(const parts::layer_inputs<forms>& vectors, std::span<const token> tokens,
                         const activations& x);

  /// Keeps the embeddings x of the step's tokens. Then x | embeddings, valid until the next call. x [tokens, hidden],
  /// result [tokens, 2 * hidden]
  void keep_embeddings(const activations& x);
  activations beside_embeddings(const activations& x) const;

  /// linear(pre_norm(x)). x [rows, inputs], result [rows, outputs]
  activations norm_linear(const activations& x, const forms::norm& pre_norm, const projection& linear,
                          std::int64_t outputs) const;

  activations attend(const heads& attention, int layer, const activations& qkv) const {
    return attention.attend(context_, layer, qkv);
  }
  /// What the heads make of their weighted sums of latent rows. [rows, part.out_width()]
  activations attend_to_latents(const activations& x, const forms::norm& pre_norm,
                                const parts::latent_attention<forms>& part) const;

  activations attend_to_encoder_input(const heads& attention, int layer, const activations& q) const {
    return attention.attend_to_encoder_input(context_, layer, q);
  }
  activations scan(const mamba_scan& mamba, int layer, const activations& x_and_gate) const {
    return mamba(context_, layer, x_and_gate);
  }

  /// What a mixer makes of part.in(pre_norm(x)), before its last product.
  activations mix(const activations& x, const forms::norm& pre_norm, const parts::recurrent_mixer<forms>& part) const;

  /// RWKV's attention before its last product, and its feed-forward. [rows, channels], [rows, inputs]
  activations mix_times(const activations& x, const forms::norm& pre_norm, const parts::time_mix<forms>& part) const;
  activations mix_channels(const activations& x, const forms::norm& pre_norm,
                           const parts::channel_mix<forms>& part) const;

  /// f(linear(pre_norm(x))), computed as the product behind it reads its rows. [rows, intermediate]
  kernels::activation_operands norm_activated(const activations& x, const forms::norm& pre_norm,
                                              const projection& linear, const parts::activation& function,
                                              std::int64_t intermediate) const;

  /// f(part.gate(pre_norm(x))) times the tokens' vectors for that layer, computed likewise. x has a row for each token,
  /// or for those of the outputs. [rows, part.width]
  kernels::activation_operands gate_layer_input(const activations& x, const forms::norm& pre_norm,
                                                const parts::layer_input<forms>& part);

  /// n + part.norm(part.right(part.left(n))), where n = pre_norm(x). [rows, hidden]
  activations low_rank(const activations& x, const forms::norm& pre_norm, const parts::low_rank<forms>& part) const;

  /// Makes the streams of the step's tokens from their embeddings x; takes the step that `step` describes, from and to
  /// x; and makes x what the streams end as. Then x has a row for each token, or for those of the outputs.
  void start_streams(const parts::streams<forms>& part, const activations& x);
  void step_streams(const parts::stream_step<forms>& step, const activations& x);
  void join_streams(const parts::streams<forms>& part, const activations& x);

  /// All streams, [tokens, streams * hidden], for the stages of a pipeline.
  const activations& streams() const { return streams_; }
  void set_streams(const activations& states) { streams_ = states; }

  /// Adds after(linear(y)) to all streams but the first.
  void linear_add_to_streams(const kernels::activation_operands& y, const projection& linear,
                             const forms::norm& after) const;

  /// Zeros. [x.rows, x.columns]
  activations zeros_like(const activations& x) const;

  /// Adds rows to x as `update` says.
  void add_rows(const activations& rows, const parts::residual<forms::norm>& update, const activations& x) const;

  /// Adds linear(y) to x as `update` says.
  void linear_add(const activations& y, const projection& linear, const parts::residual<forms::norm>& update,
                  const activations& x) const;
  void linear_add(const kernels::activation_operands& y, const projection& linear,
                  const parts::residual<forms::norm>& update, const activations& x) const;

  /// Rows, and the share of each expert in the result of each of them.
  struct routed_rows {
    activations rows;    ///< [rows, hidden]
    activations shares;  ///< [rows, experts], the shared one's last; 0: not chosen
  };

  /// Products that decide are never rounded.
  routed_rows route(const activations& x, const forms::norm& pre_norm,
                    const parts::mixture_of_experts<forms>& moe) const;

  /// Adds to x, as `update` says, the sum of the chosen experts' results, times their shares, in the experts' order.
  /// The rows of one expert go through it together; a row's result depends on that row alone.
  void add_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& moe,
                   const parts::residual<forms::norm>& update, const activations& x) const;

  /// Caches what attention to an encoder input reads of the encoder's result pre_norm(x).
  void cache_encoder_input(const parts::cross_attention<forms>& part, const forms::norm& pre_norm,
                           const activations& x) const;

  /// norm(x), or x if there is none. [rows, columns]
  activations normed(const activations& x, const forms::norm& norm) const;

  /// Copies of the outputs' rows of x.
  activations copy_kept(const activations& x) const;

  /// What the blocks for multi-token prediction read, of hidden states x behind the model's last norm and the
  /// embeddings of the tokens behind theirs. All [tokens, hidden]
  activations join(const activations& embedded, const activations& x, const parts::mtp<forms>& layer) const;

  /// logits = lm_head(pre_norm(x)). logits [rows, vocabulary]. With several ranks, those get them that gather.
  void score(const activations& x, const forms::norm& pre_norm, const parts::head<forms>& lm_head,
             const activations& logits) const;

 private:
  activations mixes(const activations& x, const forms::norm& pre_norm, std::span<const float> factors, int layer) const;
  static activations norm_linear(const forward_context& context, const activations& x, const forms::norm& pre_norm,
                                 const projection& linear, std::int64_t outputs);
  void linear_add(const input& y, const projection& linear, const parts::residual<forms::norm>& update,
                  const activations& x) const;
  void sum_over_ranks(const activations& x) const;
  void gather_logits(const activations& own, const activations& logits) const;
  void find_vectors(const parts::embedding<forms>& embeddings, std::span<const token> tokens,
                    const activations& out) const;
  void choose(const parts::mixture_of_experts<forms>& moe, const activations& shares) const;
  struct chosen_expert;
  class expert_group;
  void feed_forward(std::span<const chosen_expert> experts) const;
  kernels::activation_operands activated(const activations& up, const parts::activation& function,
                                         std::int64_t intermediate) const;
  void sum_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& moe,
                   const activations& out) const;
  void sum_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& moe,
                   std::span<const parts::mlp<forms>> experts, std::int64_t first, const activations& out) const;

  const forward_context& context_;
  std::optional<std::span<const int>> outputs_;
  activations stream(std::int64_t index, std::int64_t hidden) const;

  activations beside_embeddings_ = {};  // [tokens, 2 * hidden]; the right half stays
  activations streams_ = {};            // [tokens, or outputs; columns of each stream]
  activations layer_inputs_ = {};       // [tokens, or outputs; all layers' columns]
};

}  // namespace cogen::cpu
