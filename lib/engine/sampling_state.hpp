#pragma once

#include "sampling/random_stream.hpp"
#include "sampling/sampler.hpp"

#include <cogen/runner.hpp>

#include <cstdint>
#include <optional>

namespace cogen::detail {

/// All that the next token of one sequence depends on beside the logits. The engine's thread changes it, between steps;
/// sample() may run on any thread.
class sampling_state final : public row_sampler {
 public:
  /// With `runs_ahead`, a sampled token joins the history at once, because the next one is sampled before the scheduler
  /// has absorbed it. Otherwise the owner appends it.
  sampling_state(std::uint64_t seed, bool runs_ahead) : random(seed), runs_ahead_(runs_ahead) {}

  bool has_processor() const noexcept override { return parameters->has_processor(); }
  row_output sample(std::span<float> scores) noexcept override;
  bool describe(bool chained, sampling_row& row, sampling_lists& lists) override;

  /// A token that a device sampled is not known here before the step is absorbed.
  void absorb(const row_output& outcome) {
    if (!runs_ahead_ || outcome.by_device) history.append_generated(outcome.chosen.id);
  }

  std::optional<sampler> parameters;  ///< of the last sample that was asked for
  token_history history;
  random_stream random;  ///< where the parameters name no seed
  std::uint32_t truncations = 0;

 private:
  sampling_key next_key(bool chained) const;

  const bool runs_ahead_;
};

}  // namespace cogen::detail
