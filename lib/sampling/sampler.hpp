#pragma once

#include "sampling/random_stream.hpp"
#include "sampling/sample.hpp"
#include "sampling/token_history.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// Sampling parameters prepared for one model: they fill the rows of a sampling_batch. Immutable: sequences and threads
/// may share a sampler if each has its own history and scratch.
class sampler {
 public:
  /// Throws std::invalid_argument if `parameters.validate(vocabulary)` does. min_tokens holds back `end_tokens`; those
  /// outside the vocabulary are ignored.
  sampler(sampling_params parameters, std::int64_t vocabulary, std::span<const token> end_tokens = {});

  /// The same without a copy of the parameters.
  static sampler sharing(std::shared_ptr<const sampling_params> parameters, std::int64_t vocabulary,
                         std::span<const token> end_tokens = {}) {
    return {vocabulary, std::move(parameters), end_tokens};
  }

  const sampling_params& parameters() const { return *parameters_; }

  /// True if a sample runs the caller's own code, which belongs on the engine thread.
  bool has_processor() const { return static_cast<bool>(parameters_->processor); }

  /// The fields that all rows share; complete() fills in the others.
  const sampling_row& row() const { return row_; }

  /// Fills in what the sample after `history` and then `drafts` depends on, except its slot, its key and its mask;
  /// appends to `lists`. Drafts count as generated. With `unknown_last` the history lacks its newest token, a generated
  /// one. Throws std::bad_alloc; the row is incomplete then, and what was appended belongs to none.
  void complete(sampling_row& row, token_history& history, bool unknown_last, std::span<const token> drafts,
                sampling_lists& lists) const {
    row.unknown_last = unknown_last;
    if (has_lists_) append_lists(row, history, drafts, lists);
  }

  /// The same for a new row.
  sampling_row row_after(token_history& history, bool unknown_last, std::span<const token> drafts,
                         sampling_lists& lists) const {
    auto row = row_;
    complete(row, history, unknown_last, drafts, lists);
    return row;
  }

  // Of a row filled for `history`, which is not appended to.

  sampled sample(std::span<float> logits, token_history& history, const sampling_key& key, sampling_scratch& scratch,
                 token_mask mask = {}) const;
  std::optional<std::string> process(std::span<float> logits, token_history& history) const;
  std::pair<sampling_status, std::vector<token_probability>> distribution(std::span<float> logits,
                                                                          token_history& history,
                                                                          sampling_scratch& scratch) const;

 private:
  sampler(std::int64_t vocabulary, std::shared_ptr<const sampling_params> parameters,
          std::span<const token> end_tokens);

  template <class Call>
  auto with_row(token_history& history, const sampling_key& key, token_mask mask, const Call& call) const;
  void append_lists(sampling_row& row, token_history& history, std::span<const token> drafts,
                    sampling_lists& lists) const;
  bool holds_back(std::size_t generated) const;
  bool penalizes() const;
  list_part hold_back(std::vector<token_bias>& biases) const;
  list_part count(token_history& history, std::span<const token> drafts, std::vector<token_count>& counts) const;

  std::shared_ptr<const sampling_params> parameters_;
  sampling_row row_;        // what is the same in each
  bool has_lists_ = false;  // rows need entries in sampling_lists
  std::vector<token_bias> biases_;
  std::vector<token> end_tokens_;
};

}  // namespace cogen
