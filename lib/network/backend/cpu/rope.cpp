#include "network/backend/cpu/rope.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace cogen::cpu {

namespace {

constexpr std::int64_t positions_at_start = 4096;

std::vector<double> standard(const load::rope_config& config) {
  std::vector<double> inverse(static_cast<std::size_t>(config.rotary_dim / 2));
  for (std::size_t pair = 0; pair < inverse.size(); ++pair) {
    const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(config.rotary_dim);
    inverse[pair] = std::pow(config.theta, -exponent);
  }
  return inverse;
}

/// Long waves turn slower by the factor, short ones as before, those between in proportion.
double llama3_frequency(const load::rope_config& config, double inverse) {
  const double turns = static_cast<double>(config.original_positions) * inverse / (2 * std::numbers::pi);
  if (turns < config.low_freq_factor) return inverse / config.factor;
  if (turns >= config.high_freq_factor) return inverse;
  const double smooth = (turns - config.low_freq_factor) / (config.high_freq_factor - config.low_freq_factor);
  return (1 - smooth) * inverse / config.factor + smooth * inverse;
}

/// The pair (not rounded) that makes so many turns within the original context.
double yarn_pair(const load::rope_config& config, double turns) {
  const double context = static_cast<double>(config.original_positions);
  return static_cast<double>(config.rotary_dim) * std::log(context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(config.theta));
}

/// Between which pairs extrapolation turns into interpolation.
std::pair<double, double> yarn_ramp(const load::rope_config& config) {
  double low = yarn_pair(config, config.beta_fast);
  double high = yarn_pair(config, config.beta_slow);
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.rotary_dim - 1));
  return {low, low == high ? high + 0.001 : high};
}

double yarn_magnitude(double factor, double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1; }

double yarn_scaling(const load::rope_config& config) {
  if (config.attention_factor) return *config.attention_factor;
  const bool both = config.mscale.value_or(0) != 0 && config.mscale_all_dim.value_or(0) != 0;
  if (!both) return yarn_magnitude(config.factor, 1);
  return yarn_magnitude(config.factor, *config.mscale) / yarn_magnitude(config.factor, *config.mscale_all_dim);
}

void scale_by_yarn(const load::rope_config& config, std::vector<double>& inverse) {
  const auto [low, high] = yarn_ramp(config);
  for (std::size_t pair = 0; pair < inverse.size(); ++pair) {
    const double interpolated = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    inverse[pair] *= interpolated / config.factor + (1 - interpolated);
  }
}

void divide(std::vector<double>& inverse, const std::vector<float>& factors) {
  for (std::size_t pair = 0; pair < inverse.size(); ++pair) inverse[pair] /= static_cast<double>(factors.at(pair));
}

double longrope_scaling(const load::rope_config& config, bool is_long) {
  if (is_long && config.long_attention_factor) return *config.long_attention_factor;
  if (config.attention_factor) return *config.attention_factor;
  if (config.factor <= 1) return 1;
  return std::sqrt(1 + std::log(config.factor) / std::log(static_cast<double>(config.original_positions)));
}

}  // namespace

rope_frequencies frequencies(const load::rope_config& config, std::int64_t room) {
  const bool is_long = room > config.original_positions;
  rope_frequencies result{.inverse = standard(config)};
  switch (config.kind) {
    case load::rope_kind::standard:
      break;
    case load::rope_kind::linear:
      for (auto& inverse : result.inverse) inverse /= config.factor;
      break;
    case load::rope_kind::llama3:
      for (auto& inverse : result.inverse) inverse = llama3_frequency(config, inverse);
      break;
    case load::rope_kind::yarn:
      scale_by_yarn(config, result.inverse);
      result.attention_scaling = yarn_scaling(config);
      break;
    case load::rope_kind::listed:
      divide(result.inverse, config.frequency_factors);
      break;
    case load::rope_kind::longrope:
      divide(result.inverse, is_long ? config.long_factors : config.frequency_factors);
      result.attention_scaling = longrope_scaling(config, is_long);
      break;
  }
  return result;
}

rope::rope(const load::rope_config& config, std::int64_t longest)
    : original_positions_(config.original_positions), longest_(longest), tables_{{frequencies(config)}} {
  if (config.kind == load::rope_kind::longrope)
    tables_.push_back({frequencies(config, std::numeric_limits<std::int64_t>::max())});
  covering(std::min(longest_, positions_at_start));
}

std::shared_ptr<const kernels::rope_table> rope::covering(std::int64_t positions, std::int64_t room) const {
  positions = std::min(positions, longest_);
  const std::lock_guard lock(mutex_);
  auto& [frequencies, table] = room > original_positions_ ? tables_.back() : tables_.front();
  if (!table || table->positions() < positions) {
    const auto doubled = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(positions)));
    table = std::make_shared<const kernels::rope_table>(frequencies.inverse, frequencies.attention_scaling,
                                                        std::min(doubled, longest_));
  }
  return table;
}

}  // namespace cogen::cpu
