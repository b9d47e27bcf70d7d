#pragma once

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
  /// the step is absorbed. Otherwise absorb() appends it.
  sampling_state(random_stream random, bool runs_ahead) : random(random), runs_ahead_(runs_ahead) {}

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

  /// What a constraint forces after the history, for a row that runs it as drafts.
  std::vector<token> forced() { return constraint ? constraint->forced_after(history.tokens()) : std::vector<token>(); }

  /// Keeps the first `length` tokens.
  void truncate(std::size_t length);

  /// Has the prompt in `prompt`, and score_prompt() report so many alternatives of each token.
  void report(std::span<const token> ids, int logprobs);

  std::optional<sampler> parameters;  ///< of the last sample requested
  token_history history;
  std::unique_ptr<detail::constraint> constraint;  ///< null: none
  bool predicts = false;                           ///< the model's own prediction of the next token is wanted
  random_stream random;                            ///< its branch, and its seed unless the parameters have one
  std::uint32_t truncations = 0;
  std::vector<sampled_token> prompt;  ///< if it is reported

 private:
  void append(row_output& outcome);
  token_mask mask_after(std::span<const token> tokens, std::span<const token> drafts = {}) {
    return constraint ? constraint->mask_after(tokens, drafts) : token_mask();
  }
  sampling_key key_after(std::size_t tokens) const;  // more than the history has

  const bool runs_ahead_;
  std::size_t prompt_logprobs_ = 0;
};

}  // namespace cogen::detail
