#include "decoding/beam_state.hpp"
#include "decoding/joint_operation.hpp"
#include "decoding/normalized_row.hpp"
#include "sampling/sampler.hpp"

#include <cogen/decoding/beam_search.hpp>

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace cogen {
namespace decoding {
namespace {

void check(const request& request) {
  if (!request.sampling.greedy())
    throw std::invalid_argument(
        fmt::format("temperature is {}; beam_search does not sample, so it must be 0", request.sampling.temperature));
  if (request.sampling.logprobs.value_or(0) > 0)
    throw std::invalid_argument(fmt::format("logprobs is {}; beam_search reports no alternatives, so it must be 0",
                                            *request.sampling.logprobs));
  if (request.sampling.logprobs_mode != logprobs_mode::raw)
    throw std::invalid_argument("logprobs_mode is processed; beam_search does not filter tokens, so it must be raw");
  if (!request.stop.empty())
    throw std::invalid_argument(
        fmt::format("stop has {} texts; beam_search ends hypotheses by stop_token_ids alone", request.stop.size()));
}

struct beam {
  sequence seq;
  token_history history;
};

class search {
 public:
  search(const beam_search_params& params, strategy_input input)
      : params_(params),
        input_(std::move(input)),
        processors_(input_.request.sampling, input_.vocabulary, input_.end_tokens),
        state_(params, input_.end_tokens, input_.max_tokens) {}

  net::awaitable<void> run(std::span<strategy_output> outputs) {
    auto after_prompt = co_await begin();
    for (auto parents = state_.advance(best_after(after_prompt)); !state_.is_done();) {
      branch(parents);
      const auto scores = co_await forward();
      parents = state_.advance(best_after(scores));
    }
    beams_.clear();
    report(outputs);
  }

 private:
  /// Runs the prompt.
  net::awaitable<std::vector<logits>> begin() {
    auto root = input_.open(static_cast<int>(input_.prompt.size()) + input_.max_tokens);
    token_history history;
    history.append_given(input_.prompt);
    beams_.push_back({std::move(root), std::move(history)});
    std::vector<logits> scores;
    scores.push_back(co_await beams_.front().seq.async_forward(input_.prompt));
    co_return scores;
  }

  std::vector<std::vector<token_logprob>> best_after(std::span<const logits> scores) {
    std::vector<std::vector<token_logprob>> best;
    for (std::size_t i = 0; i < beams_.size(); ++i)
      best.push_back(best_tokens(scores[i].last(), state_.candidates(), processors_, beams_[i].history, scratch_));
    return best;
  }

  /// Each of those that go on takes its parent's sequence if it is the last one to do so, and else a fork of it. The
  /// sequences of other parents leave the batch.
  void branch(std::span<const std::size_t> parents) {
    std::vector<std::size_t> children(beams_.size());
    for (const auto parent : parents) ++children[parent];
    std::vector<beam> grown;
    grown.reserve(parents.size());
    for (const auto parent : parents) {
      auto& source = beams_[parent];
      if (--children[parent] > 0)
        grown.push_back({source.seq.fork(), source.history});
      else
        grown.push_back(std::move(source));
    }
    beams_ = std::move(grown);
    for (std::size_t i = 0; i < beams_.size(); ++i)
      beams_[i].history.append_generated(state_.running()[i].tokens.back().id);
  }

  /// Runs the newest token of each beam, all in one batch.
  net::awaitable<std::vector<logits>> forward() {
    return join<logits>(beams_.front().seq.get_executor(), beams_.size(), [this](std::size_t i, auto handler) {
      beams_[i].seq.async_forward({state_.running()[i].tokens.back().id}, logits_of::last, std::move(handler));
    });
  }

  void report(std::span<strategy_output> outputs) const {
    for (std::size_t i = 0; i < outputs.size() && i < state_.finished().size(); ++i) {
      const auto& found = state_.finished()[i];
      const bool ended = state_.is_end(found.tokens.back().id);
      for (const auto& each : std::span(found.tokens).first(found.tokens.size() - (ended ? 1 : 0)))
        outputs[i].write(each);
      outputs[i].finish(ended ? finish_reason::eos : finish_reason::length, found.score);
    }
  }

  const beam_search_params params_;
  const strategy_input input_;
  const sampler processors_;
  beam_state state_;
  std::vector<beam> beams_;
  sampling_scratch scratch_;
};

}  // namespace
}  // namespace decoding

void beam_search_params::validate() const {
  if (num_beams < 1 || num_beams > max_beams)
    throw std::invalid_argument(fmt::format("num_beams is {}; it must be between 1 and {}", num_beams, max_beams));
  if (num_return_sequences < 1 || num_return_sequences > num_beams)
    throw std::invalid_argument(
        fmt::format("num_return_sequences is {}; it must be between 1 and num_beams, which is {}", num_return_sequences,
                    num_beams));
  if (!(std::abs(length_penalty) <= max_length_penalty))
    throw std::invalid_argument(fmt::format("length_penalty is {}; it must be between -{} and {}", length_penalty,
                                            max_length_penalty, max_length_penalty));
  if (early_stopping > early_stopping::never)
    throw std::invalid_argument(
        fmt::format("early_stopping is {}; it may be off (0), on (1) or never (2)", static_cast<int>(early_stopping)));
}

group_strategy beam_search(beam_search_params params) {
  params.validate();
  return {.streams = params.num_return_sequences,
          .run = [params](strategy_input input, std::span<strategy_output> outputs) -> net::awaitable<void> {
            decoding::check(input.request);
            decoding::search search(params, std::move(input));
            co_await search.run(outputs);
          }};
}

}  // namespace cogen
