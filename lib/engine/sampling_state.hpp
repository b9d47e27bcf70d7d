#pragma once

#include "engine/guide_allowance.hpp"
#include "engine/stream/constraint.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/sampler.hpp"

#include <cogen/extend/runner.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cogen::detail {

/// Everything, except the logits, that determines a sequence's next token: it fills the sequence's rows of a step. The
/// engine thread changes it between steps; a runner gets masks of it on any thread meanwhile.
class sampling_state final : public mask_source {
 public:
  /// The allowance must outlive it.
  sampling_state(random_stream random, guide_allowance& allowance) : random(random), allowance_(allowance) {}

  /// Adds how `row`, the next of the step's rows, is sampled. Without memory for that, the row fails.
  void fill(step& step, const scheduler::row& row);

  token_mask mask_after(std::span<const token> drafts) override;

  /// Whether follow() has something to do.
  bool follows() const noexcept { return constraint && ends_with_guide; }

  /// Lets the guide follow what a row has sampled after the first `drafts` of its draft tokens, before the step is
  /// absorbed: an output ends the text, is late where the guide takes too long, or gets its error. Only the output
  /// without draft tokens may be late.
  row_output follow(row_output output, std::span<const token> drafts) noexcept;

  /// Appends a sampled token.
  void append(token sampled) { history.append_generated(sampled); }

  /// Takes the scores of the prompt's tokens from number `first` on.
  void take_scores(int first, std::span<row_output> scores) noexcept;

  /// What a constraint forces after the history, for a row that runs it as drafts; nothing where that takes too long.
  std::vector<token> forced();

  /// How many of the drafts, the first ones, a constraint allows after the history; fewer where that takes too long.
  std::size_t allowed_of(std::span<const token> drafts);

  // Of a row whose output is late. Nothing else may be called between begin_late() and take_late() but sample_late().

  void begin_late(row_output output) noexcept { late_ = std::move(output); }

  /// Does what takes long. Any thread.
  void sample_late() noexcept;

  /// The output: on the thread that launches steps, where it calls the caller's own logits processor. May be late.
  row_output take_late() noexcept;

  /// Keeps the first `length` tokens.
  void truncate(std::size_t length);

  /// Has the prompt in `prompt`, and its tokens scored with so many alternatives of each.
  void report(std::span<const token> ids, int logprobs);

  std::shared_ptr<const sampler> parameters;  ///< of the last sample requested
  token_history history;
  std::unique_ptr<detail::constraint> constraint;  ///< null: none
  bool ends_with_guide = false;                    ///< a text that can only end ends without being sampled further
  bool predicts = false;                           ///< the model's own prediction of the next token is wanted
  random_stream random;                            ///< its branch, and its seed unless the parameters have one
  std::uint32_t truncations = 0;
  std::vector<sampled_token> prompt;  ///< if it is reported

 private:
  void add_scores(const scheduler::row& row, step& step) const;
  void add_samples(const scheduler::row& row, step& step);
  void find_end(row_output& output, std::span<const token> sampled);
  row_output sample(const logits& scores);
  sampling_key key_after(std::size_t tokens) const;  // more than the history has

  guide_allowance& allowance_;
  row_output late_;
  std::size_t prompt_logprobs_ = 0;
};

}  // namespace cogen::detail
