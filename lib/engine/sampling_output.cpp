#include "engine/sampling_output.hpp"

#include "engine/diagnostics_of.hpp"

namespace cogen {
namespace {

row_output outcome_of(sampled chosen) {
  row_output outcome;
  switch (chosen.status) {
    case sampling_status::ok:
      outcome.chosen = {chosen.id, chosen.logprob, std::move(chosen.top)};
      break;
    case sampling_status::processor_failed:
      outcome.error = diagnostics(error::callback_threw, chosen.message);
      break;
    case sampling_status::not_finite:
    case sampling_status::nothing_left:
      outcome.error = diagnostics(error::bad_logits, chosen.message);
      break;
  }
  return outcome;
}

}  // namespace

bool row_sampler::describe(bool /*chained*/, sampling_row& /*row*/, sampling_lists& /*lists*/) { return false; }

row_output device_outcome(sampling_status status, token chosen) noexcept try {
  auto outcome = outcome_of({.status = status, .id = chosen, .top = {}, .message = explain(status)});
  outcome.by_device = true;
  return outcome;
} catch (...) {
  return {detail::diagnostics_of(std::current_exception()), {}, {}, true};
}

namespace detail {

row_output sampling_output(const sampler& from, std::span<float> scores, token_history& history,
                           sampling_key key) noexcept try {
  thread_local sampling_scratch scratch;
  return outcome_of(from.sample(scores, history, key, scratch));
} catch (...) {
  return {diagnostics_of(std::current_exception()), {}, {}};
}

bool describe_sampling_row(const sampler& from, token_history& history, bool unknown_last, const sampling_key& key,
                           sampling_row& row, sampling_lists& lists) {
  if (!from.describe(row, lists, history, unknown_last)) return false;
  row.seed = key.seed;
  row.branch = key.branch;
  row.position = key.position;
  row.sample = key.sample;
  return true;
}

}  // namespace detail
}  // namespace cogen
