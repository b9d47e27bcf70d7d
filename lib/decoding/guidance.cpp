#include "decoding/joint_operation.hpp"
#include "decoding/normalized_row.hpp"

#include <cogen/decoding/guidance.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace decoding {
namespace {

std::uint64_t any_seed() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

sampled_token chosen_of(sampled result) {
  if (result.status == sampling_status::ok) return {result.id, result.logprob, std::move(result.top)};
  throw generation_error(
      {result.status == sampling_status::processor_failed ? error::callback_threw : error::bad_logits, result.message});
}

class guided {
 public:
  guided(const guidance_params& params, strategy_input input)
      : scale_(static_cast<float>(params.guidance_scale)),
        input_(std::move(input)),
        sampler_(input_.request.sampling, input_.vocabulary, input_.end_tokens),
        random_(input_.request.sampling.seed.value_or(any_seed())) {
    history_.append_given(input_.prompt);
    auto negative = params.negative_prompt_ids;
    if (negative.empty()) negative.push_back(input_.prompt.back());
    add(input_.prompt);
    add(std::move(negative));
  }

  net::awaitable<void> run(strategy_output& output) {
    for (int count = 0; count < input_.max_tokens; ++count) {
      co_await output.async_ready();
      auto next = sample(co_await forward());
      if (std::ranges::find(input_.end_tokens, next.id) != input_.end_tokens.end())
        co_return output.finish(finish_reason::eos);
      history_.append_generated(next.id);
      for (auto& each : sequences_) each.unread = {next.id};
      output.write(std::move(next));
    }
    output.finish(finish_reason::length);
  }

 private:
  struct prompted_sequence {
    sequence seq;
    std::vector<token> unread;  // what it runs next
  };

  void add(std::vector<token> prompt) {
    sequences_.push_back({input_.open(static_cast<int>(prompt.size()) + input_.max_tokens), std::move(prompt)});
  }

  /// Runs both sequences in one batch.
  net::awaitable<std::vector<logits>> forward() {
    return join<logits>(sequences_.front().seq.get_executor(), sequences_.size(), [this](std::size_t i, auto handler) {
      sequences_[i].seq.async_forward(std::exchange(sequences_[i].unread, {}), logits_of::last, std::move(handler));
    });
  }

  sampled_token sample(const std::vector<logits>& scores) {
    auto& [conditional, unconditional] = rows_;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].assign(scores[i].last().begin(), scores[i].last().end());
      normalize(rows_[i], scratch_);
    }
    for (std::size_t i = 0; i < conditional.size(); ++i)
      if (conditional[i] != unconditional[i])  // both may be minus infinity
        conditional[i] = scale_ * (conditional[i] - unconditional[i]) + unconditional[i];
    const auto position = static_cast<std::uint32_t>(history_.length());
    return chosen_of(sampler_.sample(conditional, history_, random_.key(position), scratch_));
  }

  const float scale_;
  const strategy_input input_;
  const sampler sampler_;
  const random_stream random_;
  token_history history_;
  std::vector<prompted_sequence> sequences_;  // after the prompt, and after the negative prompt
  std::array<std::vector<float>, 2> rows_;
  sampling_scratch scratch_;
};

}  // namespace
}  // namespace decoding

void guidance_params::validate() const {
  if (!(std::abs(guidance_scale) <= max_guidance_scale))
    throw std::invalid_argument(fmt::format("guidance_scale is {}; it must be between -{} and {}", guidance_scale,
                                            max_guidance_scale, max_guidance_scale));
}

strategy guidance(guidance_params params) {
  params.validate();
  return {.run = [params = std::move(params)](strategy_input input, strategy_output& output) -> net::awaitable<void> {
    decoding::guided guided(params, std::move(input));
    co_await guided.run(output);
  }};
}

}  // namespace cogen
