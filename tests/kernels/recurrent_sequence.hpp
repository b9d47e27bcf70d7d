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
      : floats_(floats), previous_(static_cast<std::size_t>(sequences * floats)), after_(previous_.size()) {}

  /// The next `count` tokens of a sequence, lying from token `first` of the step on.
  token_rows row(std::int64_t sequence, std::int64_t first, std::int64_t count) {
    for (std::int64_t index = 0; index < floats_; ++index)
      after_[static_cast<std::size_t>(sequence * floats_ + index)] = std::nanf("");
    token_rows row;
    row.first = first;
    row.count = count;
    row.initial_state = previous_.data() + sequence * floats_;
    row.final_state = after_.data() + sequence * floats_;
    return row;
  }

  void advance() { previous_ = after_; }

  std::vector<float> state(std::int64_t sequence) const {
    const auto first = previous_.begin() + sequence * floats_;
    return {first, first + floats_};
  }

 private:
  std::int64_t floats_;
  std::vector<float> previous_;
  std::vector<float> after_;
};

/// Runs `tokens` tokens in pieces of these sizes, over and over: step(first token of the piece, its row).
template <class Step>
void run_in_pieces(recurrent_states& states, std::int64_t tokens, const std::vector<std::int64_t>& sizes, Step step) {
  std::size_t piece = 0;
  for (std::int64_t position = 0; position < tokens; ++piece) {
    const std::int64_t count = std::min(sizes[piece % sizes.size()], tokens - position);
    step(position, states.row(0, 0, count));
    states.advance();
    position += count;
  }
}

}  // namespace cogen::kernels
