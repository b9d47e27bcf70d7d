#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/detail/cache/step.hpp>
#include <cogen/detail/matrix.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/load_model.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen {

namespace kernels {
class worker_pool;
}
namespace parallel {
class rank_group;
}
namespace nn {
class network;
struct device_model;
struct model_text;
class pending_logits;
struct scratch;
}  // namespace nn

/// One ragged forward: new tokens for some slots, and the logits wanted after some of those tokens.
struct batch {
  cache::step step;               ///< which slots get how many new tokens
  std::span<const token> tokens;  ///< [step.tokens()], row after row
  std::span<const int> outputs;   ///< indices into `tokens` whose logits are wanted, strictly ascending
};

/// What follows the tokens of a batch, for multi-token prediction.
struct next_tokens {
  std::span<const token> tokens;  ///< [step.tokens()]: the token behind each of the batch's
  std::span<const int> outputs;   ///< indices of those whose prediction is wanted, strictly ascending
};

/// The input of an encoder: the whole encoder input of each slot in the step.
struct encoder_batch {
  cache::step step;               ///< how many encoder tokens each slot has
  std::span<const token> tokens;  ///< [step.tokens()], row after row
};

/// The threads and memory of one caller's forwards, kept between them: a decode step no larger than an earlier one
/// allocates nothing. For one thread at a time.
class workspace {
 public:
  /// `threads` includes the calling one. Empty: as many as the process may run on. `mode` is how forwards multiply.
  /// Throws std::invalid_argument if `threads` is below 1 or over 1024, std::system_error if no thread can be started.
  explicit workspace(std::optional<int> threads = {}, cogen::compute_type mode = cogen::compute_type::float32);
  /// Shares another workspace's threads. Parallel regions of two workspaces that overlap take turns or run
  /// single-threaded.
  explicit workspace(std::shared_ptr<kernels::worker_pool> workers,
                     cogen::compute_type mode = cogen::compute_type::float32);
  workspace(workspace&&) noexcept;
  workspace& operator=(workspace&&) noexcept;
  ~workspace();

  const std::shared_ptr<kernels::worker_pool>& workers() const noexcept;
  int threads() const noexcept;
  cogen::compute_type compute_type() const noexcept;
  std::int64_t bytes() const noexcept;  ///< held between forwards

 private:
  friend class model;
  std::unique_ptr<nn::scratch> scratch_;
};

/// A trained model: weights, tokenizer, chat template. Made by load_model(). Immutable; threads can share it.
///
///     auto model = cogen::load_model("SmolLM2-135M-Instruct.Q4_1.gguf");
///     auto cache = model->make_cache({.slots = 1, .max_sequence_length = 2048});
///     auto logits = model->forward(model->tokenizer().encode("The sea is"), cache);
class model {
 public:
  /// Called by load_model().
  model(load::model_config config, nn::model_text text, std::unique_ptr<const nn::network> network,
        std::string fingerprint = {});
  model(const model&) = delete;
  model& operator=(const model&) = delete;
  ~model();

  const load::model_config& config() const noexcept { return config_; }
  /// Identifies the model: its configuration, and a checksum of weights' names, types, shapes and parts of their data.
  const std::string& fingerprint() const noexcept { return fingerprint_; }

  bool has_tokenizer() const noexcept;               ///< if not, it takes token ids only
  const text::tokenizer& tokenizer() const;          ///< throws std::logic_error if there is none
  const text::chat_template* chat() const noexcept;  ///< the model's own; null if it has none that is supported
  const std::string& chat_error() const noexcept;    ///< why its template is not supported; empty otherwise
  /// "cpu", "cuda:0", … Not on the CPU, forward() takes caches of its make_cache(), and computes in float32 alone.
  std::string device() const;
  const nn::device_model* on_device() const noexcept;  ///< for engines; null on the CPU

  /// This process's number among those of load_options::parallel, from 0. All of them make the same calls in the same
  /// order, each with its own cache and from one thread at a time, and get the same logits.
  int rank() const noexcept;
  parallel::rank_group* ranks() const noexcept;  ///< for engines; null if this is the only process

  /// For engines, where the last stage of a pipeline computes the logits that this rank gets: forward() without the
  /// wait for them.
  bool awaits_logits() const noexcept;
  nn::pending_logits begin_forward(const batch& batch, cache::cache& cache, workspace& workspace) const;

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept;  ///< what each layer caches, in order

  /// A cache for this model, with custom layers where `own` makes them. Throws what cache::cache's constructor throws.
  cache::cache make_cache(const cache::options& options, const cache::layer_factory& own = {}) const;

  /// The most tokens that a slot of this cache can hold: the cache's bound, and at most the positions the model was
  /// trained for, unless no layer attends further back. Throws std::invalid_argument if the cache does not match the
  /// model's layers.
  std::int64_t max_sequence_length(const cache::cache& cache) const;

  /// Whether encode() has to read an encoder input before the first token, which is then config().decoder_start.
  bool has_encoder() const noexcept;

  /// Runs the encoder, and stores what the decoder attends to in the cache's cross layers until the slot is cleared. A
  /// slot's result is bitwise independent of the batch and of the number of threads. Allocates. Thread-safe for
  /// different caches and workspaces. If it throws, the slots hold no encoder input. Throws like forward() for a wrong
  /// token, count or cache; std::logic_error for a model without an encoder, or a slot that holds an encoder input or
  /// tokens; std::length_error for an encoder input longer than the cache or the model allows; and what
  /// cache.reserve_encoder() throws.
  void encode(const encoder_batch& batch, cache::cache& cache, workspace& workspace) const;

  /// For custom loops over slot 0: reads `ids` with the model's own threads. Throws std::invalid_argument if empty.
  void encode(std::span<const token> ids, cache::cache& cache) const;

  /// Runs the batch's tokens after those that their slots hold, and appends them to the slots. Rows longer than
  /// cache.max_step_tokens() run in several steps. Thread-safe for different caches and workspaces. Returns [outputs,
  /// vocabulary], one row for each of `outputs`, in memory of the workspace, valid until its next forward. On
  /// the CPU, a slot's logits are bitwise independent of the rest of the batch, of how its tokens are divided into
  /// batches, and of the number of threads, for workspaces of one compute type. If it throws, the cache holds what it
  /// held. Throws std::out_of_range for a token outside the vocabulary (named with its limit) or an output that is no
  /// index into tokens; std::invalid_argument for outputs that do not ascend, a wrong number of tokens, or a cache that
  /// does not match the model's layers; std::length_error for a slot that would exceed the cache's or the model's
  /// longest sequence; std::logic_error for a slot that lacks the encoder input it needs; and what cache.reserve()
  /// throws.
  matrix_view forward(const batch& batch, cache::cache& cache, workspace& workspace) const;

  /// Whether it was loaded with load_options::multi_token_prediction, and its caches have a layer more for that.
  bool predicts_tokens() const noexcept;

  /// The same for models with predicts_tokens(). Calls `next` with the logits, which says which tokens follow those of
  /// the batch, and runs the model's layer for multi-token prediction over both. Returns the logits of the tokens after
  /// the next ones, [next.outputs, vocabulary], valid as those of a forward. The plain forward() takes each
  /// row's next tokens from the row and the last token for its own successor. What the layer caches never changes the
  /// logits of the model itself. Throws likewise, what `next` throws, std::logic_error for other models, and
  /// std::length_error for a row longer than cache.max_step_tokens().
  matrix_view forward(const batch& batch, cache::cache& cache, workspace& workspace,
                      const std::function<next_tokens(const matrix_view& logits)>& next) const;

  /// For custom loops over slot 0: runs `ids` (at least one) with compute_type::float32 and the model's own threads;
  /// concurrent calls take turns. Returns the logits after the last, [vocabulary].
  std::vector<float> forward(std::span<const token> ids, cache::cache& cache) const;

  bool generates() const noexcept;                ///< if not, it has no forward()
  bool scores_pairs() const noexcept;             ///< embed() gives a pair's score, which is one number
  std::int64_t embedding_width() const noexcept;  ///< numbers in a vector; 0: the model does not embed

  /// The tokens that engines read of an input. As Sentence Transformers does, a pair that is scored, and a text of a
  /// folder with a modules.json, is cut at the folder's `max_seq_length`, else at the tokenizer's `model_max_length` or
  /// the model's positions; special tokens stay, and the folder's default prompt stands before a text. Tokens stay as
  /// they are. Throws std::invalid_argument for text where the model has no tokenizer.
  encoder_text tokenize(const encoder_input& input) const;

  /// One vector of each text, [texts, embedding_width()]: hidden states, pooled as the model's files say. A
  /// text's vector is bitwise independent of the others and of threads. Texts are read in one pass, whole.
  /// Thread-safe for different workspaces. Throws std::logic_error for a model that does not embed, std::length_error
  /// for a text longer than config().max_positions, and otherwise as forward().
  matrix embed(std::span<const encoder_text> texts, workspace& workspace) const;

  std::int64_t weight_bytes() const noexcept;     ///< bytes of weights that one step reads
  std::string_view weight_type() const noexcept;  ///< the type of most of them: "q4_1", "bf16", …
  /// What an engine takes where engine_options::compute_type is empty: int8 on a CPU where weight_type() is quantized,
  /// else float32.
  cogen::compute_type default_compute_type() const noexcept;

 private:
  struct runtime;

  void check(const batch& batch, const cache::cache& cache) const;
  matrix_view run(const batch& batch, cache::cache& cache, workspace& workspace) const;
  template <class Next>
  matrix_view run(const batch& batch, cache::cache& cache, workspace& workspace, const Next& next) const;
  void predict(const cache::step& step, const next_tokens& next, cache::cache& cache, workspace& workspace) const;
  matrix_view run_in_parts(const batch& batch, cache::cache& cache, workspace& workspace) const;
  workspace& own_workspace() const;

  load::model_config config_;
  std::string fingerprint_;
  std::unique_ptr<const nn::model_text> text_;
  std::unique_ptr<const nn::network> network_;
  std::unique_ptr<runtime> runtime_;
};

}  // namespace cogen
