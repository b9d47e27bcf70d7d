#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/cache/step.hpp>
#include <cogen/compute_type.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/load_model.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>
#include <cogen/token.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen {

namespace kernels {
class worker_pool;
}
namespace models {
class network;
struct device_model;
struct model_text;
struct scratch;
}  // namespace models

/// One ragged forward: some slots get new tokens, and the logits after some of those tokens are wanted.
struct batch {
  cache::step step;               ///< which slots get how many new tokens
  std::span<const token> tokens;  ///< [step.tokens()], row after row
  std::span<const int> outputs;   ///< indices into `tokens` whose logits are wanted, ascending, none twice
};

/// What an encoder reads: the whole encoder input of each slot in the step.
struct encoder_batch {
  cache::step step;               ///< how many tokens the encoder input of which slot has
  std::span<const token> tokens;  ///< [step.tokens()], row after row
};

/// The threads and the memory that one caller's forwards run with, kept between them: a decode step that is not larger
/// than an earlier one allocates nothing. Used by one thread at a time; several may share one pool of threads.
class workspace {
 public:
  /// `threads` counts the calling one. 0: as many as the process may run on. `mode` says how forwards multiply. Throws
  /// std::invalid_argument if `threads` is negative or over 1024, std::system_error if no thread can be started.
  explicit workspace(int threads = 0, cogen::compute_type mode = cogen::compute_type::float32);
  /// Shares another workspace's threads. Regions of two workspaces that meet take turns or run alone.
  explicit workspace(std::shared_ptr<kernels::worker_pool> workers,
                     cogen::compute_type mode = cogen::compute_type::float32);
  workspace(workspace&&) noexcept;
  workspace& operator=(workspace&&) noexcept;
  ~workspace();

  const std::shared_ptr<kernels::worker_pool>& workers() const noexcept;
  int threads() const noexcept;
  cogen::compute_type compute_type() const noexcept;

  /// Bytes held between forwards.
  std::int64_t bytes() const noexcept;

 private:
  friend class model;
  std::unique_ptr<models::scratch> scratch_;
};

/// A trained model: weights, tokenizer, chat template. Made by load_model(), immutable, shared by any number of caches,
/// engines and threads.
///
///   auto model = cogen::load_model("SmolLM2-135M-Instruct.Q4_1.gguf");
///   auto cache = model->make_cache({.slots = 1, .max_sequence_length = 2048});
///   auto logits = model->forward(model->tokenizer().encode("The sea is"), cache);
class model {
 public:
  /// What load_model() puts together.
  model(load::model_config config, models::model_text text, std::unique_ptr<const models::network> network,
        std::string fingerprint = {});
  model(const model&) = delete;
  model& operator=(const model&) = delete;
  ~model();

  const load::model_config& config() const noexcept { return config_; }

  /// Differs between models: the configuration in words, and a checksum over names, types, shapes and parts of all
  /// weights as they are stored.
  const std::string& fingerprint() const noexcept { return fingerprint_; }

  bool has_tokenizer() const noexcept;
  /// Throws std::logic_error where the model was stored without one: then it takes token ids only.
  const text::tokenizer& tokenizer() const;
  /// The model's own template, or null where it brings none or one that uses what is not known.
  const text::chat_template* chat() const noexcept;
  /// What chat_template said about that one; empty otherwise.
  const std::string& chat_error() const noexcept;

  /// Where it lies: "cpu", "cuda:0", … One that is not on the cpu is run by engines alone: forward() and encode() are
  /// std::logic_error.
  std::string device() const;

  /// For engines: what runs it where that is not the cpu; null otherwise.
  const models::device_model* on_device() const noexcept;

  /// What each layer remembers, first layer first.
  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept;

  /// A cache for this model, with layers of your own where `own` makes them. Throws what cache::cache's constructor
  /// does.
  cache::cache make_cache(const cache::options& options, const cache::layer_factory& own = {}) const;

  /// The most tokens that a slot of this cache can hold for this model: what the cache can, and no more positions than
  /// the model was made for, unless no layer ever looks back further than that. Throws std::invalid_argument for a
  /// cache of other layers than the model's.
  std::int64_t max_sequence_length(const cache::cache& cache) const;

  /// Whether the model decodes beside an encoder input, which encode() reads first; config().decoder_start is then the
  /// token that decoding starts from.
  bool has_encoder() const noexcept;

  /// Runs the encoder over the encoder inputs and keeps in the cache's cross layers what the decoder attends to. A
  /// slot's encoder input is the same bits whatever others are in the batch and with any number of threads; it stays
  /// until the slot is cleared. Allocates.
  ///
  /// Checked before anything changes: std::logic_error for a model without an encoder, or a slot that holds an encoder
  /// input or tokens; std::invalid_argument for a number of tokens other than step.tokens(), or a cache of other layers
  /// than the model's; std::out_of_range for a token outside the vocabulary; std::length_error for an encoder input
  /// longer than the cache's or the model's longest; what cache.reserve_encoder() throws. If it throws, the slots hold
  /// no encoder input.
  ///
  /// Any thread, but one at a time for a cache and for a workspace.
  void encode(const encoder_batch& batch, cache::cache& cache, workspace& workspace) const;

  /// For hand-written loops over slot 0: reads `ids` (at least one: std::invalid_argument), with threads of the model's
  /// own.
  void encode(std::span<const token> ids, cache::cache& cache) const;

  /// Runs the batch's tokens after those that their slots hold, and counts them as held.
  ///
  /// Rows of more tokens than the cache's rings leave room for (cache.longest_step()) run in several steps.
  ///
  /// Returns [outputs, vocabulary] float32, one row for each of `outputs`; it lies in the workspace and is overwritten
  /// by the next forward with it. A slot's logits are the same bits whatever else is in the batch, however its tokens
  /// are cut into batches, and with any number of threads, for workspaces of one compute type.
  ///
  /// Checked before anything changes: std::out_of_range for a token outside the vocabulary (named with its limit) or an
  /// output that is no index into tokens; std::invalid_argument for outputs that do not ascend, a number of tokens
  /// other than step.tokens(), or a cache of other layers than the model's; std::length_error for a slot that would
  /// pass the cache's or the model's longest sequence; std::logic_error for a slot without an encoder input where the
  /// model reads one; what cache.reserve() throws. If it throws, the cache holds what it held.
  ///
  /// Any thread, but one at a time for a cache and for a workspace.
  at::Tensor forward(const batch& batch, cache::cache& cache, workspace& workspace) const;

  /// For hand-written loops over slot 0: runs `ids` (at least one), with compute_type::float32, and returns the logits
  /// after the last, [vocabulary] float32, in memory of their own. Calls on one model take turns at threads of the
  /// model's own.
  at::Tensor forward(std::span<const token> ids, cache::cache& cache) const;

  /// Bytes of weights that one step reads.
  std::int64_t weight_bytes() const noexcept;

  /// The type most of those weights are stored in: "q4_1", "bf16", …
  std::string_view weight_type() const noexcept;

 private:
  struct runtime;

  at::Tensor run(const batch& batch, cache::cache& cache, workspace& workspace) const;
  at::Tensor run_in_parts(const batch& batch, cache::cache& cache, workspace& workspace) const;

  workspace& own_workspace() const;

  load::model_config config_;
  std::string fingerprint_;
  std::unique_ptr<const models::model_text> text_;
  std::unique_ptr<const models::network> network_;
  std::unique_ptr<runtime> runtime_;
};

}  // namespace cogen
