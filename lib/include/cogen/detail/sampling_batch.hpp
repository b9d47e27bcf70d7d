#pragma once

#include <cogen/token.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cogen {

/// The status of one sample.
enum class sampling_status : std::uint8_t {
  ok,
  not_finite,        ///< a logit is NaN or plus infinity
  nothing_left,      ///< every logit is minus infinity, by the model or after bias and processors
  processor_failed,  ///< the caller's processor threw
};

/// A number added to a token's logit.
struct token_bias {
  token id = 0;
  float value = 0;
};

/// Identifies one random number; equal keys give equal numbers, in every batch.
struct sampling_key {
  std::uint64_t seed = 0;
  std::uint64_t branch = 0;    ///< which fork of the seeded sequence
  std::uint32_t position = 0;  ///< tokens the sequence holds before the sampled one
  std::uint32_t sample = 0;    ///< counts samples at the same position
};

/// The tokens that may be sampled: bit `id % 64` of word `id / 64`. Empty: all of them.
using token_mask = std::span<const std::uint64_t>;

/// How often a token occurs in a history.
struct token_count {
  token id = -1;
  std::uint32_t total = 0;      ///< in the prompt and in what was generated
  std::uint32_t generated = 0;  ///< in what was generated
};

/// Entries [begin, begin + count) of a list.
struct list_part {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// What the rows of one step refer to, concatenated.
struct sampling_lists {
  std::vector<token_bias> biases;
  std::vector<token_count> counts;
  std::vector<std::uint64_t> masks;  ///< token_masks
  std::uint32_t top_logprobs = 0;    ///< how many most probable tokens are returned for all rows together
};

/// Which log-probabilities of a row are returned: none, those of the logits as they came (logprobs_mode::raw), or those
/// of the tokens that may be sampled (logprobs_mode::processed).
enum class sampled_logprobs : std::uint8_t { none, raw, processed };

/// All that sampling a token from one row of logits depends on besides these: the steps of sampling_params, in their
/// order, as numbers. Or a token that is known, such as a prompt's next one, whose log-probability is returned.
/// Trivially copyable; a default-constructed row is padding. Ids are unique among its biases and among its counts; ids
/// outside the vocabulary are ignored.
struct sampling_row {
  std::int32_t slot = -1;  ///< the cache slot in which its token is kept for the next step; below 0: nothing is sampled

  /// A token of the vocabulary that is returned in the place of a sampled one; below 0: none. Of the other fields only
  /// `top` is then read: `slot` has to be below 0, `logprobs` to be `raw`, and the rest as in padding.
  token scored = -1;

  bool by_host = false;  ///< only the host can sample it: a device samples nothing
  bool greedy = true;  ///< takes the largest logit, the lowest id among equals; the fields down to min_p have no effect
  bool unknown_last = false;  ///< the slot's kept token also counts as generated; `counts` does not include it
  float inverse_temperature = 1;
  std::uint32_t top_k = 0;  ///< 0 keeps all
  double top_p = 1;         ///< 1 keeps all
  float min_p = 0;          ///< 0 keeps all
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  sampling_key key = {};
  list_part biases = {};     ///< added to the logits first
  list_part held_back = {};  ///< in the list of biases, too: logits set to minus infinity after the penalties
  list_part counts = {};     ///< of the history, if a penalty needs them
  list_part mask = {};       ///< a bit for each token: other logits are set to minus infinity last; empty: none are
  sampled_logprobs logprobs = sampled_logprobs::none;
  list_part top = {};  ///< of what is returned: the most probable tokens; id -1 where fewer are possible
};

/// What a guide allows, which is worked out where a row is sampled.
class mask_source {
 public:
  virtual ~mask_source() = default;
  /// The tokens that may follow those of the sequence and then `drafts`, the first of its row's draft tokens; valid
  /// until the next call. Called between launch() and the end of the step, by one thread at a time, with one draft
  /// token more each time. Throws guide_postponed where it takes longer than a step may wait, and generation_error.
  virtual token_mask mask_after(std::span<const token> drafts) = 0;
};

/// Calls the caller's own logits processor with the logits after so many draft tokens.
using row_processor = std::function<void(std::span<const token> drafts, std::span<float> logits)>;

/// How one row of a step is sampled, beside the numbers.
struct row_sampling {
  std::size_t first = 0;         ///< of its samples: scheduler::row::scores() known tokens, then 1 + drafts to sample
  mask_source* masks = nullptr;  ///< null: all tokens are allowed. Valid until the step is absorbed
  /// Null: there is none. Rows that have one are sampled one after another, on the thread that launches the step.
  std::shared_ptr<const row_processor> processor = {};
  bool predicts = false;          ///< row_output::predicted is wanted after the last token that it samples
  bool is_out_of_memory = false;  ///< it cannot be sampled: its output is error::out_of_memory
};

/// How the rows of a step are sampled.
struct sampling_batch {
  std::vector<sampling_row> samples;  ///< of all rows, concatenated
  sampling_lists lists;
  std::vector<row_sampling> rows;  ///< of the step's rows, in their order

  /// Empties it and keeps its memory.
  void clear() noexcept {
    samples.clear();
    lists.biases.clear();
    lists.counts.clear();
    lists.masks.clear();
    lists.top_logprobs = 0;
    rows.clear();
  }
};

}  // namespace cogen
