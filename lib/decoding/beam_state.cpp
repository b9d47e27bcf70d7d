#include "decoding/beam_state.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace cogen::decoding {

beam_state::beam_state(beam_search_params params, std::vector<token> end_tokens, int max_tokens)
    : params_(params),
      end_tokens_(std::move(end_tokens)),
      max_tokens_(max_tokens),
      width_(static_cast<std::size_t>(params.num_beams)),
      candidates_(width_ * std::max<std::size_t>(2, 1 + end_tokens_.size())) {}

std::vector<std::size_t> beam_state::advance(std::span<const std::vector<token_logprob>> next) {
  const auto best = best_of(next);
  ++length_;
  const bool is_last = length_ == max_tokens_;
  std::vector<hypothesis> running;
  std::vector<std::size_t> parents;
  for (std::size_t rank = 0; rank < best.size(); ++rank) {
    const bool ends = is_last || is_end(best[rank].token.id);
    if (ends && rank < width_) {
      finished_.push_back(continued(best[rank]));
      finished_.back().score /= penalty_at(length_);
    } else if (!ends && running.size() < width_) {
      running.push_back(continued(best[rank]));
      parents.push_back(best[rank].parent);
    }
  }
  running_ = std::move(running);
  keep_best_finished();
  done_ = running_.empty() || !can_improve();
  return parents;
}

bool beam_state::is_end(token id) const { return std::ranges::find(end_tokens_, id) != end_tokens_.end(); }

/// The best continuations of all beams; among equals those of better beams first.
std::vector<beam_state::continuation> beam_state::best_of(std::span<const std::vector<token_logprob>> next) const {
  std::vector<continuation> continuations;
  for (std::size_t parent = 0; parent < running_.size(); ++parent)
    for (const auto& [id, logprob] : next[parent])
      continuations.push_back({parent, {.id = id, .logprob = logprob, .top = {}}, running_[parent].score + logprob});
  std::ranges::stable_sort(continuations, std::greater<>(), &continuation::score);
  if (continuations.size() > candidates_)
    continuations.erase(continuations.begin() + static_cast<std::ptrdiff_t>(candidates_), continuations.end());
  return continuations;
}

hypothesis beam_state::continued(const continuation& next) const {
  hypothesis result{running_[next.parent].tokens, next.score};
  result.tokens.push_back(next.token);
  return result;
}

float beam_state::penalty_at(int length) const {
  return static_cast<float>(std::pow(static_cast<double>(length), params_.length_penalty));
}

void beam_state::keep_best_finished() {
  std::ranges::stable_sort(finished_, std::greater<>(), &hypothesis::score);
  if (finished_.size() > width_) finished_.resize(width_);
}

/// Whether a running beam may still end with a better score than the worst of enough that have ended.
bool beam_state::can_improve() const {
  if (finished_.size() < width_) return true;
  if (params_.early_stopping == early_stopping::on) return false;
  const bool grows = params_.early_stopping == early_stopping::never && params_.length_penalty > 0;
  return running_.front().score / penalty_at(grows ? max_tokens_ : length_) > finished_.back().score;
}

}  // namespace cogen::decoding
