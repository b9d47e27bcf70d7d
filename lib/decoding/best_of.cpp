#include "decoding/joint_operation.hpp"

#include <cogen/decoding/best_of.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace decoding {
namespace {

void check_sampled(const request& request) {
  if (request.sampling.greedy())
    throw std::invalid_argument("temperature is 0; best_of samples, so it must be above 0");
  if (request.sampling.logprobs_mode != logprobs_mode::raw)
    throw std::invalid_argument(
        "logprobs_mode is processed; best_of ranks by the model's own distribution, so it must be raw");
  if (!request.stop.empty())
    throw std::invalid_argument(
        fmt::format("stop has {} texts; best_of ends samples by stop_token_ids alone", request.stop.size()));
}

struct sample {
  sequence seq;
  std::vector<token> unread;  // tokens of the prompt that it has not run
  std::vector<sampled_token> tokens = {};
  double sum = 0;  // of their log-probabilities
};

struct ranked_sample {
  std::vector<sampled_token> tokens;
  finish_reason reason = finish_reason::aborted;
  double score = -std::numeric_limits<double>::infinity();
};

class sample_ranking {
 public:
  sample_ranking(const best_of_params& params, strategy_input input) : params_(params), input_(std::move(input)) {}

  net::awaitable<void> run(strategy_output& output) {
    for (co_await begin(); !live_.empty(); drop_beaten()) absorb(co_await decode());
    for (auto& each : best_.tokens) output.write(std::move(each));
    output.finish(best_.reason, static_cast<float>(best_.score));
  }

 private:
  /// Runs the prompt without its last token, which is the first that each sample runs by itself.
  net::awaitable<void> begin() {
    auto root = input_.open(static_cast<int>(input_.prompt.size()) + input_.max_tokens);
    const std::vector<token> last{input_.prompt.back()};
    if (input_.prompt.size() > 1)
      co_await root.async_forward(std::vector(input_.prompt.begin(), input_.prompt.end() - 1));
    for (int i = 1; i < params_.n; ++i) live_.push_back({root.fork(), last});
    live_.push_back({std::move(root), last});
  }

  net::awaitable<std::vector<sampled_token>> decode() {
    return join<sampled_token>(live_.front().seq.get_executor(), live_.size(), [this](std::size_t i, auto handler) {
      auto& candidate = live_[i];
      candidate.seq.async_decode(std::exchange(candidate.unread, {}), sampling_of(candidate), std::move(handler));
    });
  }

  sampling_params sampling_of(const sample& candidate) const {
    auto params = input_.request.sampling;
    if (!params.logprobs) params.logprobs = 0;
    if (std::ssize(candidate.tokens) < std::exchange(params.min_tokens, 0))
      for (const token id : input_.end_tokens) params.logit_bias[id] = -std::numeric_limits<double>::infinity();
    return params;
  }

  void absorb(std::vector<sampled_token> next) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      live_[i].sum += next[i].logprob;
      live_[i].tokens.push_back(std::move(next[i]));
    }
    for (const auto& each : live_)
      if (is_over(each)) rank(each);
    std::erase_if(live_, [this](const sample& candidate) { return is_over(candidate); });
  }

  bool has_ended(const sample& candidate) const {
    return std::ranges::find(input_.end_tokens, candidate.tokens.back().id) != input_.end_tokens.end();
  }

  bool is_over(const sample& candidate) const {
    return has_ended(candidate) || std::ssize(candidate.tokens) == input_.max_tokens;
  }

  void rank(const sample& candidate) {
    const double score = score_at(candidate.sum, static_cast<int>(candidate.tokens.size()));
    if (score <= best_.score) return;
    best_ = {candidate.tokens, has_ended(candidate) ? finish_reason::eos : finish_reason::length, score};
    if (has_ended(candidate)) best_.tokens.pop_back();
  }

  double score_at(double sum, int length) const {
    return params_.score == best_of_score::sum_logprob ? sum : sum / length;
  }

  /// No log-probability is above 0: no sample ends better than with those it has, at the greatest length.
  void drop_beaten() {
    std::erase_if(
        live_, [this](const sample& candidate) { return score_at(candidate.sum, input_.max_tokens) <= best_.score; });
  }

  const best_of_params params_;
  const strategy_input input_;
  std::vector<sample> live_;
  ranked_sample best_;
};

}  // namespace
}  // namespace decoding

void best_of_params::validate() const {
  if (n < 1 || n > max_samples)
    throw std::invalid_argument(fmt::format("n is {}; it must be between 1 and {}", n, max_samples));
  if (score > best_of_score::sum_logprob)
    throw std::invalid_argument(
        fmt::format("score is {}; it may be mean_logprob (0) or sum_logprob (1)", static_cast<int>(score)));
}

strategy best_of(best_of_params params) {
  params.validate();
  return {.run = [params](strategy_input input, strategy_output& output) -> net::awaitable<void> {
    decoding::check_sampled(input.request);
    decoding::sample_ranking samples(params, std::move(input));
    co_await samples.run(output);
  }};
}

}  // namespace cogen
