#pragma once

#include <cogen/decoding/beam_search.hpp>
#include <cogen/sampling_params.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace cogen::decoding {

/// Tokens after the prompt, each with its log-probability, and what they are ranked by.
struct hypothesis {
  std::vector<sampled_token> tokens;
  float score = 0;
};

/// What a beam search selects, without model and engine: which beams go on, which hypotheses have ended, and when the
/// search is over. Follows `_beam_search` of Transformers' generation/utils.py, with a batch of one.
class beam_state {
 public:
  /// `end_tokens` end a hypothesis; the `max_tokens`-th token ends it too.
  beam_state(beam_search_params params, std::vector<token> end_tokens, int max_tokens);

  /// How many of the most probable tokens after each running beam can matter.
  std::size_t candidates() const noexcept { return candidates_; }

  /// Those that go on, best first; their scores are sums of log-probabilities. At first one without tokens.
  std::span<const hypothesis> running() const noexcept { return running_; }

  /// Continues the running beams by their most probable tokens, best first. Returns for each of those that go on which
  /// one it continues.
  std::vector<std::size_t> advance(std::span<const std::vector<token_logprob>> next);

  bool is_done() const noexcept { return done_; }

  /// Those that have ended, best first, num_beams of them at most. A score is divided by the length penalty.
  std::span<const hypothesis> finished() const noexcept { return finished_; }

  bool is_end(token id) const;

 private:
  struct continuation {
    std::size_t parent;
    sampled_token token;
    float score;
  };

  std::vector<continuation> best_of(std::span<const std::vector<token_logprob>> next) const;
  hypothesis continued(const continuation& next) const;
  float penalty_at(int length) const;
  void keep_best_finished();
  bool can_improve() const;

  const beam_search_params params_;
  const std::vector<token> end_tokens_;
  const int max_tokens_;
  const std::size_t width_;
  const std::size_t candidates_;
  std::vector<hypothesis> running_{{}};
  std::vector<hypothesis> finished_;
  int length_ = 0;  // of the running ones
  bool done_ = false;
};

}  // namespace cogen::decoding
