#pragma once

#include <cogen/drafter.hpp>

#include <span>
#include <vector>

namespace cogen::detail {

/// What the drafter of one request proposes. Used by the engine thread. Throws generation_error, with
/// error::callback_threw if the drafter throws, and with error::invalid_request for a token outside the vocabulary.
class draft_proposals {
 public:
  /// Throws what the drafter's begin() throws.
  draft_proposals(speculative_options options, const draft_target& request);

  /// For the row after one that has generated the last `count` tokens of `history`, and after which the model predicted
  /// a token, or -1.
  std::vector<token> after(std::span<const token> history, int count, token predicted);

  bool read_predictions() const noexcept { return any() && options_.drafter->reads_predictions(); }
  bool any() const noexcept { return options_.drafter != nullptr; }

  /// There will be none any more.
  void end() noexcept { options_.drafter.reset(); }

 private:
  std::vector<token> drafted_after(std::span<const token> history, int count, token predicted);

  speculative_options options_;
  int vocabulary_;
};

}  // namespace cogen::detail
