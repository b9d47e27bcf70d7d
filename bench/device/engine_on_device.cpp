#include "engine_on_device.hpp"

#include "engine/parts/make_parts.hpp"

#include <cogen/extend/runner.hpp>

#include <cstdint>

namespace cogen::bench {

namespace {

constexpr std::int64_t swap_bytes = std::int64_t{64} << 30;

}  // namespace

engine make_engine(const std::shared_ptr<const model>& lm, int slots, int max_sequence_length, const settings& wanted) {
  auto options = wanted.engine;
  options.batching.slots = slots;
  options.limits.max_sequence_length = max_sequence_length;
  auto parts = detail::make_parts(lm, options, {.recorded = !wanted.eager, .overlapped = !wanted.in_turn});
  parts.limits.swap_bytes = swap_bytes;
  return engine(std::move(parts), options);
}

sampling_params sampling_of(const settings& wanted, int request) {
  if (!wanted.lively) return {};
  return {.temperature = 0.8, .top_k = 50, .top_p = 0.95, .seed = static_cast<std::uint64_t>(request)};
}

}  // namespace cogen::bench
