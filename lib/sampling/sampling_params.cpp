#include <cogen/sampling_params.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace {

using verdict = std::optional<std::string>;

verdict outside(std::string_view name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fmt::format("{} is {}; it must be from {} to {}", name, value, low, high);
}

verdict outside(std::string_view name, std::int64_t value, std::int64_t high) {
  if (value >= 0 && value <= high) return {};
  return fmt::format("{} is {}; it must be from 0 to {}", name, value, high);
}

verdict temperature_problem(double value) {
  if (value == 0) return {};
  if (value >= sampling_params::min_temperature && value <= sampling_params::max_temperature) return {};
  return fmt::format("temperature is {}; it must be 0 (greedy) or from {} to {}", value,
                     sampling_params::min_temperature, sampling_params::max_temperature);
}

verdict bias_problem(token id, double value, std::int64_t vocabulary) {
  if (id < 0 || id >= vocabulary)
    return fmt::format("logit_bias names token {}; the vocabulary has tokens 0 to {}", id, vocabulary - 1);
  if (value == -std::numeric_limits<double>::infinity() || std::abs(value) <= sampling_params::max_logit_bias)
    return {};
  return fmt::format("logit_bias of token {} is {}; it must be from -{} to {}, or minus infinity", id, value,
                     sampling_params::max_logit_bias, sampling_params::max_logit_bias);
}

verdict bias_problem(const std::map<token, double>& biases, std::int64_t vocabulary) {
  if (biases.size() > sampling_params::max_logit_biases)
    return fmt::format("logit_bias names {} tokens; at most {} may have one", biases.size(),
                       sampling_params::max_logit_biases);
  for (const auto& [id, value] : biases)
    if (auto problem = bias_problem(id, value, vocabulary)) return problem;
  return {};
}

}  // namespace

std::optional<std::string> sampling_params::problem(std::int64_t vocabulary) const {
  constexpr std::int64_t max_length = std::numeric_limits<std::int32_t>::max();
  if (auto found = temperature_problem(temperature)) return found;
  if (auto found = outside("top_k", top_k, max_length)) return found;
  if (auto found = outside("top_p", top_p, 0, 1)) return found;
  if (auto found = outside("min_p", min_p, 0, 1)) return found;
  if (auto found = outside("repetition_penalty", repetition_penalty, min_repetition_penalty, max_repetition_penalty))
    return found;
  if (auto found = outside("presence_penalty", presence_penalty, -max_count_penalty, max_count_penalty)) return found;
  if (auto found = outside("frequency_penalty", frequency_penalty, -max_count_penalty, max_count_penalty)) return found;
  if (auto found = outside("min_tokens", min_tokens, max_length)) return found;
  if (auto found = outside("logprobs", logprobs.value_or(0), max_logprobs)) return found;
  if (logprobs_mode > cogen::logprobs_mode::processed)
    return fmt::format("logprobs_mode is {}; it may be raw (0) or processed (1)", static_cast<int>(logprobs_mode));
  return bias_problem(logit_bias, vocabulary);
}

void sampling_params::validate(std::int64_t vocabulary) const {
  if (const auto found = problem(vocabulary)) throw std::invalid_argument(*found);
}

}  // namespace cogen
