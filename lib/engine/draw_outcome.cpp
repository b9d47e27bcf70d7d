#include "engine/draw_outcome.hpp"

#include "engine/failure_of.hpp"

namespace cogen {
namespace {

row_outcome outcome_of(sampled drawn) {
  row_outcome outcome;
  switch (drawn.status) {
    case draw_status::drawn:
      outcome.chosen = {drawn.id, drawn.logprob, std::move(drawn.top)};
      break;
    case draw_status::processor_failed:
      outcome.error = failure(error::callback_threw, drawn.message);
      break;
    case draw_status::not_finite:
    case draw_status::nothing_left:
      outcome.error = failure(error::bad_logits, drawn.message);
      break;
  }
  return outcome;
}

}  // namespace

bool drawer::describe(bool /*chained*/, device_draw& /*row*/, draw_lists& /*lists*/) { return false; }

row_outcome device_outcome(draw_status status, token drawn) noexcept try {
  auto outcome = outcome_of({.status = status, .id = drawn, .top = {}, .message = explain(status)});
  outcome.by_device = true;
  return outcome;
} catch (...) {
  return {detail::failure_of(std::current_exception()), {}, {}, true};
}

namespace detail {

row_outcome draw_outcome(const sampler& from, std::span<float> scores, token_history& history, draw_key key) noexcept
    try {
  thread_local sampling_scratch scratch;
  return outcome_of(from.draw(scores, history, key, scratch));
} catch (...) {
  return {failure_of(std::current_exception()), {}, {}};
}

bool describe_draw(const sampler& from, token_history& history, bool unknown_last, const draw_key& key,
                   device_draw& row, draw_lists& lists) {
  if (!from.describe(row, lists, history, unknown_last)) return false;
  row.seed = key.seed;
  row.branch = key.branch;
  row.position = key.position;
  row.draw = key.draw;
  return true;
}

}  // namespace detail
}  // namespace cogen
