#pragma once

#include "network/kernels/activation_kind.hpp"
#include "network/models/model_spec.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace cogen::parts {

// The parts of a network with their weights, in the forms of a backend B. It has the types
//
//   rows        rows of numbers, which its operators read and write
//   table       a matrix that rows are read from, and of which a projection is made
//   projection  y = x W^T + bias, with a member bias
//   norm        of rows; by default none
//   positions   a table of positions
//   heads       what attention does to queries, keys and values
//   stacked     equal products as one, which stack() makes of them; each keeps its own form, too
//   block_part  a variant of the parts below that its operators run
//
// Nothing here computes: nn::blocks runs parts over the operators of their backend. Immutable.

/// What becomes of a block's result: x = total * post(x + scale * after(result)).
template <class Norm>
struct residual {
  Norm after = {};
  float scale = 1;
  Norm post = {};
  float total = 1;
  const Norm* next = nullptr;  ///< the norm of the block that reads x then; none behind the last one, or among others
};

/// The function of a feed-forward.
struct activation {
  kernels::activation kind = kernels::activation::silu;
  bool gated = true;                      ///< f(gate) * up, where the product is [gate | up]; otherwise f(up)
  std::array<float, 4> parameters = {};   ///< of xielu and swiglu_oai
  float gate_scale = 1;                   ///< of the gate, before f
  std::optional<float> gate_cutoff = {};  ///< as in mlp_spec
};

/// A table of tokens, and what is added to its rows.
template <class B>
struct embedding {
  typename B::table table;        ///< [vocabulary, width], or the rows of the shard
  models::shard vocabulary = {};  ///< vectors of the other tokens are those of other ranks
  float scale = 1;
  std::int64_t width = 0;
  typename B::projection to_hidden = {};  ///< without weights, width is that of hidden states
  typename B::positions positions = {};   ///< [positions, hidden], or none
  std::int64_t second_text = 0;           ///< where those of a pair's second text begin, if they are others
  typename B::norm after = {};
};

/// The vectors that tokens have for all layers: scale * table[id] + norm(projection x).
template <class B>
struct layer_inputs {
  typename B::table table;  ///< [vocabulary, width]
  std::int64_t vocabulary = 0;
  float scale = 1;
  std::int64_t width = 0;  ///< of those of all layers
  typename B::projection projection;
  typename B::norm norm;  ///< of each layer's by itself
};

/// The last product, [vocabulary, width], and what becomes of logits: cap(scale * (x W^T + bias)).
template <class B>
struct head {
  typename B::projection to_width = {};  ///< without weights, width is that of hidden states
  std::int64_t width = 0;
  typename B::projection product;
  models::shard vocabulary = {};  ///< logits of the other tokens are those of other ranks
  float scale = 1;
  float softcap = 0;
};

template <class B>
struct attention {
  static constexpr bool mixes_tokens = true;

  typename B::projection qkv;
  typename B::heads heads;
  typename B::projection output;
  int layer;                      ///< of the cache
  bool reads_embeddings = false;  ///< x | the tokens' embeddings
};

/// Latent attention: heads attend to rows of a latent vector and a rotated key, which are both keys and values.
template <class B>
struct latent_attention {
  static constexpr bool mixes_tokens = true;

  models::latent_attention_spec spec;
  typename B::projection in;  ///< to queries, or the vector that they come from, | latent vector | rotated key
  typename B::norm q_norm;    ///< of that vector
  typename B::projection q;   ///< from it; without weights there is none
  typename B::norm kv_norm;   ///< of the latent vector
  std::vector<typename B::projection> absorb;  ///< of each head: queries into latent space, [kv_rank, nope_dim]
  typename B::heads heads;
  std::vector<typename B::projection> expand;  ///< of each head: out of it, [value_dim, kv_rank]
  typename B::projection output;
  int layer;                                                   ///< of the cache
  typename B::stacked into_latents = {}, out_of_latents = {};  ///< those of all heads

  std::int64_t q_in() const { return spec.q_rank > 0 ? spec.q_rank : q_width(); }
  std::int64_t q_width() const { return std::int64_t{spec.heads} * spec.query_dim(); }
  std::int64_t in_width() const { return q_in() + spec.row_dim(); }
  std::int64_t out_width() const { return std::int64_t{spec.heads} * spec.value_dim; }
};

/// Attention to an encoder input, of which keys and values are cached once.
template <class B>
struct cross_attention {
  static constexpr bool mixes_tokens = true;

  typename B::projection q;
  typename B::projection kv;
  typename B::heads heads;
  typename B::projection output;
  int layer;  ///< of the cache
};

/// A selective state-space mixer.
template <class B>
struct mamba {
  static constexpr bool mixes_tokens = true;

  typename B::projection in;  ///< to x | gate
  typename B::scan scan;
  typename B::projection output;
  int layer;  ///< of the cache
};

/// Another mixer with a state of fixed size: what it does between its products is `mixer`.
template <class B>
struct recurrent_mixer {
  static constexpr bool mixes_tokens = true;

  typename B::projection in;
  typename B::projection decisions;  ///< how the state decays; without weights, nothing decides
  typename B::mixer mixer;
  typename B::projection output;
  int layer;  ///< of the cache
};

/// RWKV's attention by times, as kernels::time_mix_operands has it.
template <class B>
struct time_mix {
  static constexpr bool mixes_tokens = true;

  models::time_mix_spec spec;
  decltype(B::projection::bias) mixes;     ///< m of each product, [in.size() * inputs] float32
  std::vector<typename B::projection> in;  ///< to keys, values and gates
  decltype(B::projection::bias) decay;     ///< [channels] float32; negative
  decltype(B::projection::bias) first;     ///< [channels] float32
  typename B::projection output;
  int layer;  ///< of the cache
};

/// RWKV's feed-forward: sigmoid(gate) * product(relu(key)^2).
template <class B>
struct channel_mix {
  static constexpr bool mixes_tokens = true;

  models::channel_mix_spec spec;
  decltype(B::projection::bias) mixes;     ///< m of each product, [in.size() * inputs] float32
  std::vector<typename B::projection> in;  ///< to keys and gates
  typename B::projection product;
  int layer;  ///< of the cache
};

template <class B>
struct mlp {
  static constexpr bool mixes_tokens = false;

  typename B::projection up;  ///< to gate | up, or to up
  parts::activation activation;
  std::int64_t intermediate;
  typename B::projection down;
};

template <class B>
struct linear {
  static constexpr bool mixes_tokens = false;

  typename B::projection product;
  std::int64_t outputs;
};

/// Some feed-forwards of which a router chooses a few for each row.
template <class B>
struct mixture_of_experts {
  static constexpr bool mixes_tokens = false;

  models::moe_spec spec;
  typename B::projection router;              ///< to a logit of each expert, and of the shared one's gate
  decltype(B::projection::bias) choice_bias;  ///< [spec.experts], or none
  std::vector<mlp<B>> experts;                ///< from spec.first_expert() on; the shared one last
  typename B::stacked up = {}, down = {};     ///< those of all but the shared one
  typename B::norm router_norm = {};          ///< of x, for the router alone; without it, it reads what experts read
  decltype(B::projection::bias) share_scales = {};  ///< [spec.experts], or none
  typename B::projection into_latent = {};          ///< what chosen experts read of x; without weights, x
  typename B::projection out_of_latent = {};        ///< from the sum of their results

  /// Columns of the router's product.
  std::int64_t logits() const { return spec.experts + (spec.shared && !spec.shared->gate.empty() ? 1 : 0); }

  /// How many each row has: those of all experts, also of other ranks, and the shared one's.
  std::int64_t shares() const { return spec.experts + (spec.shared ? 1 : 0); }
};

/// A product that is gated by the token's vector for this layer.
template <class B>
struct layer_input {
  static constexpr bool mixes_tokens = false;

  typename B::projection gate;
  parts::activation activation;
  std::int64_t first;  ///< column of the vector among the token's vectors
  std::int64_t width;
  typename B::projection down;
  bool to_streams;
};

template <class B>
struct low_rank {
  static constexpr bool mixes_tokens = false;

  std::int64_t rank;
  typename B::projection left, right;
  typename B::norm norm;
};

/// How several streams begin and end.
template <class B>
struct streams {
  std::vector<typename B::projection> in, out;  ///< [count - 1]

  std::int64_t count() const { return static_cast<std::int64_t>(in.size()) + 1; }
};

template <class B>
struct stream_step {
  static constexpr bool mixes_tokens = false;

  models::stream_step_spec spec;
  typename B::norm norm;
  typename B::projection router;
  typename B::projection coefficients;
  decltype(B::projection::bias) scale;  ///< [hidden], or none
};

template <class B>
struct block {
  typename B::block_part part;
  typename B::norm pre_norm;
  residual<typename B::norm> after;
  bool parallel;  ///< reads the x that the block before it read
  models::feed feeds_next = models::feed::nothing;

  /// What becomes of the sum of the results of this block and the parallel ones behind it, each after its own `after`.
  std::optional<residual<typename B::norm>> shared_norm = {};

  bool mixes_tokens() const {
    return std::visit([](const auto& kind) { return kind.mixes_tokens; }, part);
  }
};

/// A layer for multi-token prediction, as in mtp_spec.
template <class B>
struct mtp {
  typename B::norm embedding_norm;
  typename B::norm hidden_norm;
  typename B::projection projection;
  std::vector<block<B>> blocks;
  typename B::norm final_norm;
};

}  // namespace cogen::parts
