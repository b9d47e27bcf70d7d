#pragma once

#include "network/kernels/activation_kind.hpp"
#include "network/models/norm_spec.hpp"
#include "network/models/pooling_spec.hpp"
#include "network/models/recurrent_specs.hpp"

#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/load/model_config.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cogen::models {

// A model as a value: what it computes and what its weights are called. No tensor, no device. Names are Transformers',
// or GGUF's after as_gguf(). Those of projections follow their block's prefix, all others are complete. Each gets
// ".weight" or ".bias".

/// What one rank has of a model whose layers are split over several: `count` from `first` on, of `total`. By default it
/// has everything. tensor_shards.hpp makes them.
struct shard {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t total = 0;

  explicit operator bool() const { return total > 0; }
  bool is_first() const { return first == 0; }
};

/// A norm of queries and keys, before they are rotated unless `after_rope`. Without names it has no weights.
struct qk_norm_spec {
  /// What is normed by itself: each head, with the same weights; each head with weights of its own; all heads as one.
  enum class scope : std::uint8_t { head, each_head, width };

  std::string q = "q_norm";
  std::string k = "k_norm";
  double epsilon = 1e-6;
  norm_spec::kind type = norm_spec::kind::rms;
  scope over = scope::head;
  float weight_offset = 0;
  bool after_rope = false;
  bool values = false;  ///< each head's values are normed, too, without weights
  bool bias = false;    ///< of layer norms
};

struct rope_spec {
  load::rope_config config;
  bool interleaved = false;  ///< rotates neighbors (2 i, 2 i + 1), not halves (i, i + n / 2)
  int first_dim = 0;         ///< of a head; those before it stay as they are
};

/// Attention with linear biases (Press et al., arXiv:2108.12409): a score gets slope * distance.
struct alibi_spec {
  std::vector<float> slopes;  ///< [heads]
};

/// A score gets a learned number, which depends on its head and on the bucket of the key's distance.
struct relative_bias_spec {
  std::string name;                 ///< of a matrix [buckets, heads]
  std::int64_t buckets = 32;        ///< a multiple of 4
  std::int64_t max_distance = 128;  ///< those from here on share a bucket
  bool both_ways = false;           ///< half of the buckets are for keys behind the query
};

/// Queries of later positions are scaled up: by 1 + beta * log(1 + floor((position + offset) / length)).
struct query_growth_spec {
  double beta = 0;
  std::int64_t length = 1;
  std::int64_t offset = 0;
};

/// up(down(x)), a product of low rank that is added to the one of a matrix (Hu et al., arXiv:2106.09685).
struct adapter_spec {
  std::int64_t rank = 0;
  std::string down;
  std::string up;
};

struct attention_spec {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  double scale = 1;  ///< of q . k

  /// Queries, keys and values: three names, or one of a matrix with all of their rows.
  std::vector<std::string> qkv = {"q_proj", "k_proj", "v_proj"};
  std::string output = "o_proj";
  bool grouped_qkv = false;  ///< one matrix: for each key head its queries, key and value, not all of one kind together
  bool transposed = false;   ///< matrices are stored [inputs, outputs]
  bool qkv_bias = false;
  bool output_bias = false;
  std::vector<adapter_spec> adapters = {};  ///< of queries, keys and values, or none
  bool reads_embeddings = false;            ///< besides x: it reads x | the tokens' embeddings
  bool output_gate =
      false;  ///< each head's rows of queries are followed by a gate: its output is scaled by sigmoid(gate)

  std::optional<rope_spec> rope = {};
  std::optional<qk_norm_spec> qk_norm = {};
  std::optional<alibi_spec> alibi = {};
  std::optional<relative_bias_spec> relative_bias = {};
  std::optional<query_growth_spec> query_growth = {};
  std::string sink_logits = {};  ///< [heads], a score that no value has, in each head's softmax; empty: there is none
  float softcap = 0;             ///< scores become cap * tanh(score / cap); 0: they stay
  float qkv_clip = 0;            ///< queries, keys and values, once normed, are cut to [-clip, clip]; 0: they stay

  cache::kv_cache_spec kv = {};  ///< of kind cross: keys and values are the encoder's
  bool causal = true;            ///< if not, tokens attend to those behind them as well, within the same window

  /// The layer of the cache that it reads instead of one of its own: it has queries alone. That layer is an earlier
  /// block's, with the same `kv`.
  std::optional<int> shared_kv = {};

  /// Of the model's heads; `heads`, `kv_heads` and all else with a number for each head are those of the shard.
  shard q_shard = {}, kv_shard = {};

  int all_heads() const { return q_shard ? static_cast<int>(q_shard.total) : heads; }
  int all_kv_heads() const { return kv_shard ? static_cast<int>(kv_shard.total) : kv_heads; }
  std::int64_t inputs(std::int64_t hidden) const { return reads_embeddings ? 2 * hidden : hidden; }
  std::int64_t q_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_dim; }
};

/// Latent attention (DeepSeek-AI, arXiv:2405.04434). Of each token one vector c and one rotated key r are cached, for
/// all heads. Head h has a query q | u, of which u is rotated; its scores are (K q) . c + u . r, and its result is V
/// times the weighted sum of c.
struct latent_attention_spec {
  int heads = 0;
  int nope_dim = 0;   ///< of q
  int rope_dim = 0;   ///< of u and r
  int value_dim = 0;  ///< of a head's result
  int kv_rank = 0;    ///< of c
  int q_rank = 0;     ///< queries are products of a vector of that width; 0: of x itself
  double scale = 1;   ///< of scores
  double norm_epsilon = 1e-6;

  std::string q = "q_proj";  ///< without a q_rank
  std::string q_down = "q_a_proj";
  std::string q_norm = "q_a_layernorm";
  std::string q_up = "q_b_proj";
  std::string kv_down = "kv_a_proj_with_mqa";  ///< to c | r
  std::string kv_norm = "kv_a_layernorm";      ///< of c
  /// A matrix with the rows of K transposed, then of V, of each head, or two of stacks: K of all heads, V of all heads.
  std::vector<std::string> kv_up = {"kv_b_proj"};
  std::string output = "o_proj";
  bool down_bias = false;
  bool output_bias = false;

  rope_spec rope = {};
  std::optional<query_growth_spec> query_growth = {};
  shard q_shard = {};  ///< as in attention_spec

  int all_heads() const { return q_shard ? static_cast<int>(q_shard.total) : heads; }
  int query_dim() const { return nope_dim + rope_dim; }
  int row_dim() const { return kv_rank + rope_dim; }

  /// What is left behind the products with K and before those with V: attention of wide queries to one key head.
  attention_spec absorbed() const;

  cache::kv_cache_spec kv() const { return {.kv_heads = 1, .head_dim = row_dim(), .latent_dim = kv_rank}; }
};

/// down(f(gate x) * up x) (Shazeer, arXiv:2002.05202), or without a gate down(f(up x)).
struct mlp_spec {
  std::int64_t intermediate = 0;
  kernels::activation activation = kernels::activation::silu;
  std::string gate = "gate_proj";  ///< empty: there is none. The same name as `up`: one matrix holds both, gate first
  std::string up = "up_proj";
  std::string down = "down_proj";
  float gate_scale = 1;  ///< of gate x
  std::optional<float> gate_cutoff =
      {};                   ///< of a row of gate x the mean + so many deviations are taken, and no less is 0
  bool transposed = false;  ///< matrices are stored [inputs, outputs]
  bool bias = false;
  bool interleaved = false;                 ///< one matrix: rows of gate and up in turn
  std::array<float, 4> parameters = {};     ///< of the activation, unless the checkpoint has them
  std::vector<adapter_spec> adapters = {};  ///< of gate and up, or of the matrix that holds both, or none
  shard columns = {};                       ///< of the model's inner width; `intermediate` is that of the shard

  std::int64_t all_columns() const { return columns ? columns.total : intermediate; }
};

/// A product, and nothing else.
struct linear_spec {
  std::string name = "linear";
};

/// How a router's logits become the shares that a few experts have in a row's result: those with the largest scores,
/// their shares are these scores. A softmax over all experts that is renormalized is one over the chosen ones.
struct router_spec {
  enum class scoring : std::uint8_t {
    softmax,
    sigmoid,
    sparsemixer,  ///< one after the other: a softmax over those left whose logits are near the best (arXiv:2409.12136)
  };
  enum class group_scoring : std::uint8_t { best, two_best };  ///< a group's score is the sum of that many

  std::string name = "router";
  bool bias = false;
  scoring scores = scoring::softmax;
  std::string choice_bias = {};  ///< a vector that scores get for the choice alone, after the prefix, or none
  std::int64_t groups = 1;       ///< of neighbors; experts outside the `top_groups` best are not chosen
  std::int64_t top_groups = 1;
  group_scoring groups_by = group_scoring::best;
  bool renormalized = false;  ///< shares are divided by their sum
  double added_to_sum = 1e-20;
  double scale = 1;               ///< of shares, after that
  double jitter = 0;              ///< of sparsemixer: near is within twice that, relative to the larger of two logits
  bool scales_input = false;      ///< shares multiply what experts read, not their results
  std::string share_scales = {};  ///< a vector that shares are multiplied by, after the prefix, or none
  std::optional<norm_spec> pre_norm = {};  ///< of x, for the router alone; without it, it reads what experts read
};

/// A feed-forward for all rows beside the chosen ones. Names follow the block's prefix.
struct shared_expert_spec {
  mlp_spec mlp;
  std::string gate = {};  ///< of the sigmoid that its result is multiplied by, one number a row; empty: there is none
};

/// Chosen experts read down(x), and the sum of their results goes through `up`. Names follow the block's prefix.
struct latent_experts_spec {
  std::int64_t width = 0;
  std::string down;
  std::string up;
  bool bias = false;
};

/// Some feed-forwards of which a router chooses a few for each row (Shazeer et al., arXiv:1701.06538).
struct moe_spec {
  mlp_spec expert;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  router_spec router = {};
  bool stacked = false;        ///< one tensor [experts, outputs, inputs] for all; else names follow "experts.E."
  std::string bias = ".bias";  ///< what the names of experts' biases end in
  std::optional<shared_expert_spec> shared = {};
  std::optional<latent_experts_spec> latent = {};
  shard owned = {};  ///< of `experts`; all of them are routed to

  std::int64_t first_expert() const { return owned.first; }
  std::int64_t own_experts() const { return owned ? owned.count : experts; }
};

/// down(f(gate x) * e), where e is the token's vector for this layer.
struct layer_input_spec {
  std::int64_t width = 0;
  std::int64_t first = 0;  ///< column of e among the token's vectors for all layers
  kernels::activation activation = kernels::activation::gelu_tanh;
  std::string gate = "per_layer_input_gate";
  std::string down = "per_layer_projection";
  bool to_streams = false;  ///< it is added to all streams but the first, and not to x
};

/// n + norm(right left n), where n = before(x) (Menghani et al., arXiv:2411.07501).
struct low_rank_spec {
  std::int64_t rank = 0;
  std::string left = "linear_left";
  std::string right = "linear_right";
  norm_spec norm;
};

/// Several streams of hidden states, of which layers change one, x (Baykal et al., arXiv:2301.13310). The first begins
/// as the embedding, the others as projections of it; at the end x is the mean of the first and of projections of the
/// others. Projections get the magnitude of the first stream.
struct streams_spec {
  std::int64_t count = 0;
  std::string in = "model.altup_projections.{}";
  std::string out = "model.altup_unembed_projections.{}";
  bool stacked = false;  ///< one tensor [count - 1, outputs, inputs], without a number in its name
};

/// With m = tanh(router norm(x)), of all streams s: before a layer s[i] += sum over j of (coefficients m)[i, j] * s[j],
/// and x = s[active]. Behind a layer s[i] += (1 + (coefficients m)[i]) * (x - s[active]), and x = scale * s[active].
struct stream_step_spec {
  bool corrects = false;  ///< behind a layer
  std::int64_t streams = 0;
  std::int64_t active = 0;
  norm_spec norm;
  std::string router = "modality_router";
  std::string coefficients = "prediction_coefs";
  std::string scale = {};  ///< a vector, after the prefix; empty: it is 1
};

/// A selective state-space mixer: Gu and Dao, arXiv:2312.00752, section 3; with norms inside, Lieber et al.,
/// arXiv:2403.19887.
struct mamba_spec {
  std::int64_t channels = 0;
  std::int64_t states = 0;  ///< of the scan, in each channel
  std::int64_t taps = 0;    ///< of the convolution: tokens it reads, its own included
  std::int64_t rank = 0;    ///< width of the time step before its projection
  bool bias = false;        ///< of the projections into and out of the mixer
  bool convolution_bias = true;
  std::optional<double> norm_epsilon = {};  ///< if time step, B and C have an RMS norm each

  /// Numbers that a slot's state takes: the convolution's [taps - 1, channels], then the scan's [states, channels].
  std::int64_t state() const { return channels * (taps - 1 + states); }
  cache::kv_cache_spec kv() const { return {.kind = cache::layer_kind::recurrent, .state = state()}; }
};

/// What the next block reads in place of x.
enum class feed : std::uint8_t { nothing, result, sum };

/// x = scalar * post(x + residual_scale * after(part(pre_norm(x)))). Blocks may name the same weights.
struct block_spec {
  std::variant<attention_spec, latent_attention_spec, mamba_spec, short_convolution_spec, delta_net_spec, mamba2_spec,
               time_mix_spec, channel_mix_spec, mlp_spec, moe_spec, linear_spec, layer_input_spec, low_rank_spec,
               stream_step_spec>
      part;
  std::string prefix;
  std::optional<norm_spec> pre_norm = {};
  std::optional<norm_spec> after = {};
  std::optional<norm_spec> post = {};
  float residual_scale = 1;
  bool parallel = false;  ///< reads the x that the block before it read

  /// If not nothing, x stays as it is: the next block alone reads the result, or x + the result.
  feed feeds_next = feed::nothing;
  std::string scalar = {};  ///< complete name of a tensor of one number; empty: it is 1
  float total_scale = 1;    ///< of x, like the scalar

  /// A norm of the sum of what this block and the parallel ones behind it would add to x; x gets its result instead,
  /// and then the scalar.
  std::optional<norm_spec> shared_norm = {};
};

/// One vector for each position, added to a token's: row `offset` is the first position's.
struct position_table_spec {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t sinusoid_steps = 0;  ///< if not 0, a table that a file lacks is one of sinusoids
  std::string types = {};           ///< a table whose row 0 is added to tokens, row 1 to those of a pair's second text
  std::int64_t type_count = 0;      ///< its rows; with one, all tokens get it
};

/// With a width of its own, embeddings go through `projection` [hidden, width] before the first block, and hidden
/// states through the head's [width, hidden] after the last.
struct embedding_spec {
  /// The first that the checkpoint holds is read. It may hold the others, too; those with the same numbers are one
  /// table in memory.
  std::vector<std::string> names = {};
  double scale = 1;
  std::int64_t width = 0;  ///< 0: that of hidden states
  std::string projection = {};
  std::optional<position_table_spec> positions = {};
  std::optional<norm_spec> norm = {};
};

/// One vector of each token for each layer, from its id and from its embedding x, side by side: table_scale * table[id]
/// + norm(projection x). Ids beyond the table have the row of id 0.
struct layer_inputs_spec {
  std::string table;
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;  ///< of a layer's vector
  std::int64_t layers = 0;
  double table_scale = 1;
  std::string projection;
  norm_spec norm;  ///< of each layer's vector, with the same weights
};

struct head_spec {
  std::vector<std::string> names;  ///< as an embedding's; empty: the decoder's embedding is used again
  std::int64_t width = 0;          ///< as an embedding's
  std::string projection = {};
  std::string bias = {};     ///< complete name of a vector, or none
  bool bias_is_row = false;  ///< it is a matrix of one row, and a checkpoint may lack it
  double scale = 1;          ///< logits are multiplied by it
  float softcap = 0;         ///< logits become cap * tanh(logits / cap); 0: they stay
};

struct encoder_spec {
  embedding_spec embedding = {};
  std::vector<block_spec> blocks = {};
  std::optional<norm_spec> final_norm = {};
};

/// A layer for multi-token prediction (Liu et al., arXiv:2412.19437, section 2.2). For token i of a sequence it reads
/// h, what the model's last norm makes of that token, and e, the embedding of token i + 1. `blocks` run over
/// projection(embedding_norm(e) | hidden_norm(h)), at position i, and the model's head over final_norm of what they
/// make: logits of token i + 2. Names are complete.
struct mtp_spec {
  norm_spec embedding_norm;
  norm_spec hidden_norm;
  std::string projection;  ///< [hidden, 2 * hidden]
  std::vector<block_spec> blocks;
  std::optional<norm_spec> final_norm;
};

/// Sizes that all blocks share are in model_config. A checkpoint of the model without its head may lack `base`, the
/// first part of all names but the head's.
struct model_spec {
  std::string base = "model.";
  embedding_spec embedding = {};
  std::vector<block_spec> blocks = {};
  std::optional<norm_spec> final_norm = {};
  head_spec head = {};
  std::optional<encoder_spec> encoder = {};
  std::optional<layer_inputs_spec> layer_inputs = {};
  std::optional<pooling_spec> pooling = {};  ///< if it makes vectors of texts
  std::optional<streams_spec> streams = {};
  std::optional<mtp_spec> mtp = {};  ///< a checkpoint may lack it
  shard vocabulary = {};             ///< rows of the embedding and of the head
  std::vector<std::string> unread =
      {};  ///< tensors that a checkpoint may hold and no block reads; "mtp.*": all of these
};

/// What each layer of the cache holds: one for each block that mixes tokens, in their order, those for multi-token
/// prediction last, unless it reads another's.
std::vector<cache::kv_cache_spec> kv_cache_specs(const model_spec& spec);

/// From now on the decoder's embedding stands in for a head that the checkpoint lacks, and the head for a missing
/// embedding. A checkpoint that holds both with different numbers is not tied, as in Transformers.
void tie_head(model_spec& spec);

/// Whether tokens attend to those behind them, so that it cannot generate.
bool is_encoder_only(const model_spec& spec);

}  // namespace cogen::models
