#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::load {

/// A model file that cannot be read: missing, truncated, malformed, or beyond a limit. what() names the file, the thing
/// in it, the value found and what is allowed; text from the file is escaped.
class load_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How inverse frequencies are derived from theta (formulas: modeling_rope_utils.py of Transformers).
enum class rope_kind {
  standard,  ///< inv_freq[i] = theta^(-2i / rotary_dim)
  linear,    ///< divided by factor
  llama3,    ///< long wavelengths divided by factor, smoothly between low_freq_factor and high_freq_factor
  yarn,      ///< arXiv:2309.00071, with attention_factor on cos and sin
  listed,    ///< inv_freq[i] divided by frequency_factors[i] (GGUF's rope_freqs.weight)
  longrope,  ///< the same in caches of up to original_positions, by long_factors in longer ones (arXiv:2402.13753)
};

/// Rotary position encoding.
struct rope_config {
  rope_kind kind = rope_kind::standard;
  double theta = 10000;
  std::int64_t rotary_dim = 0;          ///< dimensions of a head that are rotated; even, 2 to head_dim, in every
                                        ///< layer that rotates
  double factor = 1;                    ///< linear, llama3, yarn
  double low_freq_factor = 1;           ///< llama3
  double high_freq_factor = 4;          ///< llama3
  std::int64_t original_positions = 0;  ///< the context before scaling; 0: not given
  std::optional<double> attention_factor = {};  ///< yarn, longrope: if given, replaces the one computed from factor
  std::optional<double> long_attention_factor = {};  ///< longrope: if given, the one in caches with more room
  double beta_fast = 32;                             ///< yarn
  double beta_slow = 1;                              ///< yarn
  std::optional<double> mscale = {};                 ///< yarn
  std::optional<double> mscale_all_dim = {};         ///< yarn; also of the scores of latent attention
  bool truncate = true;                              ///< yarn: the ramp's ends are rounded outwards to whole dimensions
  std::vector<float> frequency_factors = {};         ///< listed, longrope: [rotary_dim / 2]
  std::vector<float> long_factors = {};              ///< longrope: likewise
  friend bool operator==(const rope_config&, const rope_config&) = default;
};

/// model_config::max_positions of a model without a position limit.
inline constexpr std::int64_t unlimited_positions = (std::int64_t{1} << 31) - 1;

/// The checked configuration of a language model; for encoder-decoder models, of the decoder. Sizes are positive and
/// bounded, heads divide, numbers are finite, token ids are inside the vocabulary. A model without attention has 0
/// heads of dimension 0; one without rotary positions rotates 0 dimensions. Fields of a single family are not here.
struct model_config {
  std::string family;  ///< "llama", …
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;     ///< of queries; 0: no attention
  std::int64_t kv_heads = 0;  ///< of keys and values
  std::int64_t head_dim = 0;
  std::int64_t intermediate = 0;  ///< the feed-forward's inner width; 0 if the family has none or its own
  std::int64_t max_positions = 0;
  double rms_norm_eps = 1e-6;       ///< of any norm, RMS or not
  std::string activation = "silu";  ///< or swish, gelu, gelu_new, gelu_pytorch_tanh, relu
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tie_embeddings = false;
  rope_config rope;
  std::optional<std::int64_t> sliding_window;
  std::vector<std::string> layer_types;  ///< [layers], as Transformers names them; empty: all "full_attention"
  std::optional<token> bos;
  std::optional<token> pad;
  std::vector<token> eos;              ///< any of them ends a generation
  std::optional<token> decoder_start;  ///< the decoder's first token, if there is an encoder
};

/// How the authors of a model want it to generate, in the words of sampling_params. What they do not say is empty.
struct generation_defaults {
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<std::int64_t> top_k = {};  ///< 0: all
  std::optional<int> max_tokens = {};      ///< at most

  friend bool operator==(const generation_defaults&, const generation_defaults&) = default;
};

/// Reads a generation_config.json, that of a Hugging Face folder if it has one, or the keys `general.sampling` of a
/// GGUF file. Nothing uses them by itself. Throws load_error, naming file, key, value and range, for a file that cannot
/// be read and for values that sampling_params does not allow.
generation_defaults read_generation_defaults(const std::filesystem::path& path);

/// What shows the score of a pair of texts, which the classifier of a model gives.
enum class score_activation : std::uint8_t {
  identity,  ///< the score itself
  sigmoid,   ///< 1 / (1 + e^-score)
};

/// What the cross-encoders of Sentence Transformers apply: `activation_fn` in "sentence_transformers" of a folder's
/// config.json, or the older "sbert_ce_default_activation_function"; otherwise, and for a GGUF file, the sigmoid.
/// Engines do not apply it. Throws load_error, naming file, key and value, for another function.
score_activation read_score_activation(const std::filesystem::path& path);

}  // namespace cogen::load
