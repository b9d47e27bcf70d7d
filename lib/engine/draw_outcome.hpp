#pragma once

#include "engine/failure_of.hpp"
#include "sampling/sampler.hpp"

#include <cogen/runner.hpp>

namespace cogen::detail {

/// What a sampler's draw means for the row it was made for.
inline row_outcome draw_outcome(const sampler& from, std::span<float> scores, token_history& history,
                                draw_key key) noexcept try {
  thread_local sampling_scratch scratch;
  auto drawn = from.draw(scores, history, key, scratch);
  row_outcome outcome;
  switch (drawn.status) {
    case draw_status::drawn:
      outcome.chosen = {drawn.id, drawn.logprob, std::move(drawn.top)};
      break;
    case draw_status::processor_failed:
      outcome.error = failure(error::callback_threw, std::move(drawn.message));
      break;
    case draw_status::not_finite:
    case draw_status::nothing_left:
      outcome.error = failure(error::bad_logits, std::move(drawn.message));
      break;
  }
  return outcome;
} catch (...) {
  return {failure_of(std::current_exception()), {}, {}};
}

}  // namespace cogen::detail
