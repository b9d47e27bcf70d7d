#include "engine/runner/row_outputs.hpp"

#include "engine/runner/diagnostics_of.hpp"

#include <exception>
#include <utility>

namespace cogen::detail {

row_output logits_output(std::span<const float> scores, int vocabulary) noexcept try {
  return {.scores = logits({scores.begin(), scores.end()}, vocabulary)};
} catch (...) {
  return {.error = diagnostics_of(std::current_exception())};
}

row_output output_of(sampled chosen) {
  switch (chosen.status) {
    case sampling_status::ok:
      return {.chosen = {chosen.id, chosen.logprob, std::move(chosen.top)}};
    case sampling_status::processor_failed:
      return {.error = {error::callback_threw, chosen.message}};
    case sampling_status::not_finite:
    case sampling_status::nothing_left:
      break;
  }
  return {.error = {error::bad_logits, chosen.message}};
}

row_output output_of(sampling_status status, sampled_token chosen) noexcept try {
  return output_of({.status = status,
                    .id = chosen.id,
                    .logprob = chosen.logprob,
                    .top = std::move(chosen.top),
                    .message = explain(status)});
} catch (...) {
  return {.error = diagnostics_of(std::current_exception())};
}

}  // namespace cogen::detail
