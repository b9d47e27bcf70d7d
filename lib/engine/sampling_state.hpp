#pragma once

#include "engine/guide_allowance.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/sampler.hpp"
#include "stream/constraint.hpp"

#include <cogen/extend/runner.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::detail {

/// Everything, except the logits, that determines a sequence's next token. The engine thread changes it between steps;
/// sample() may run on any thread.
class sampling_state final : public row_sampler {
 public:
  /// With `runs_ahead`, sample() appends the token to the history itself, because the next one may be sampled before
  /// the step is absorbed. Otherwise absorb() appends it. The allowance must outlive it.
  sampling_state(random_stream random, bool runs_ahead, guide_allowance& allowance)
      : random(random), runs_ahead_(runs_ahead), allowance_(allowance) {}

  bool has_processor() const noexcept override { return parameters->has_processor(); }
  row_output sample(std::span<float> scores, std::span<const token> drafts = {}) noexcept override;
  diagnostics score_prompt(std::span<const float> scores, int index) noexcept override;
  void describe_prompt(int index, sampling_row& row, sampling_lists& lists) override;
  void set_prompt_score(int index, sampled_token scored) noexcept override;
  bool wants_prediction() const noexcept override { return predicts; }
  token known_token(std::size_t index) const noexcept override {
    return index < history.length() ? history.tokens()[index] : -1;
  }
  bool describe(bool chained, sampling_row& row, sampling_lists& lists, std::span<const token> drafts = {}) override;

  /// Appends the sampled token, unless sample() has. A token sampled by a device is not known before this.
  void absorb(row_output& outcome) {
    if (!runs_ahead_ || outcome.by_device) append(outcome);
  }

  /// Appends what a device has sampled, before the step is absorbed, if a guide has to follow it there, and returns the
  /// outcome. It may be late if it `may` be; otherwise an error takes its place.
  bool follows_device() const noexcept { return runs_ahead_ && constraint; }
  row_output follow_device(row_output outcome, bool may_be_late) noexcept;

  /// What a constraint forces after the history, for a row that runs it as drafts; nothing where that takes too long.
  std::vector<token> forced();

  /// How many of the drafts, the first ones, a constraint allows after the history; fewer where that takes too long.
  std::size_t allowed_of(std::span<const token> drafts);

  // Where the outcome of its last row is late. Nothing else may be called between the two but from sample_late().

  /// Does what takes long. Any thread.
  void sample_late() noexcept;

  /// The outcome: on the thread that launches steps, where it calls the caller's own logits processor. May be late.
  row_output take_late() noexcept;

  /// Keeps the first `length` tokens.
  void truncate(std::size_t length);

  /// Has the prompt in `prompt`, and score_prompt() report so many alternatives of each token.
  void report(std::span<const token> ids, int logprobs);

  std::shared_ptr<const sampler> parameters;  ///< of the last sample requested
  token_history history;
  std::unique_ptr<detail::constraint> constraint;  ///< null: none
  bool predicts = false;                           ///< the model's own prediction of the next token is wanted
  random_stream random;                            ///< its branch, and its seed unless the parameters have one
  std::uint32_t truncations = 0;
  std::vector<sampled_token> prompt;  ///< if it is reported

 private:
  /// What is left to be done of a row that is late.
  struct late_row {
    std::vector<float> scores;         // to sample from
    std::optional<row_output> chosen;  // sampled; it was not appended
  };

  row_output sample(std::span<float> scores, std::span<const token> drafts, std::optional<row_output>& chosen);
  row_output put_off(std::span<const float> scores, std::optional<row_output> chosen);
  void append(row_output& outcome);
  token_mask mask_after(std::span<const token> tokens, std::span<const token> drafts = {}) {
    return constraint ? constraint->mask_after(tokens, drafts) : token_mask();
  }
  sampling_key key_after(std::size_t tokens) const;  // more than the history has

  const bool runs_ahead_;
  guide_allowance& allowance_;
  late_row late_;
  std::size_t prompt_logprobs_ = 0;
};

}  // namespace cogen::detail
