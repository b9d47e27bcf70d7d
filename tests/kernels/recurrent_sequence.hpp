#pragma once

#include "network/kernels/token_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cogen::kernels {

/// The states of some sequences: as a step finds them and as it leaves them. What a step does not write shows as NaN.
class recurrent_states {
 public:
  recurrent_states(std::int64_t sequences, std::int64_t floats)
      : floats_(floats), before_(static_cast<std::size_t>(sequences * floats)), after_(before_.size()) {}

  /// The next `count` tokens of a sequence, lying from token `first` of the step on.
  token_rows row(std::int64_t sequence, std::int64_t first, std::int64_t count) {
    for (std::int64_t at = 0; at < floats_; ++at)
      after_[static_cast<std::size_t>(sequence * floats_ + at)] = std::nanf("");
    token_rows row;
    row.first = first;
    row.count = count;
    row.before = before_.data() + sequence * floats_;
    row.after = after_.data() + sequence * floats_;
    return row;
  }

  void advance() { before_ = after_; }

  std::vector<float> of(std::int64_t sequence) const {
    const auto first = before_.begin() + sequence * floats_;
    return {first, first + floats_};
  }

 private:
  std::int64_t floats_;
  std::vector<float> before_;
  std::vector<float> after_;
};

/// Runs `tokens` tokens in pieces of these sizes, over and over: step(first token of the piece, its row).
template <class Step>
void run_in_pieces(recurrent_states& states, std::int64_t tokens, const std::vector<std::int64_t>& sizes, Step step) {
  std::size_t piece = 0;
  for (std::int64_t at = 0; at < tokens; ++piece) {
    const std::int64_t count = std::min(sizes[piece % sizes.size()], tokens - at);
    step(at, states.row(0, 0, count));
    states.advance();
    at += count;
  }
}

}  // namespace cogen::kernels
