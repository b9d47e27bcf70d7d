#include "network/nn/device/device_scratch.hpp"

namespace cogen::nn {

device_scratch device_scratch::first(std::int64_t tokens) const {
  return {.x = x.narrow(0, 0, tokens),
          .weighted = weighted,
          .squares = squares,
          .qkv = qkv.narrow(0, 0, tokens),
          .sink_q = sink_q.defined() ? sink_q.narrow(0, 0, tokens) : sink_q,
          .attended = attended.narrow(0, 0, tokens),
          .mixed = mixed.narrow(0, 0, tokens),
          .decisions = decisions.narrow(0, 0, tokens),
          .gated = gated.narrow(0, 0, tokens),
          .routed = routed.narrow(0, 0, tokens),
          .shares = shares.narrow(0, 0, tokens),
          .joined = joined.narrow(0, 0, tokens),
          .inputs = inputs.narrow(0, 0, tokens),
          .streams = streams.narrow(0, 0, tokens),
          .wide = wide.narrow(0, 0, tokens),
          .partial = partial.narrow(0, 0, tokens)};
}

std::int64_t device_scratch::bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const auto* each : {&x, &weighted, &squares, &qkv, &sink_q, &attended, &mixed, &decisions, &gated, &routed,
                           &shares, &joined, &inputs, &streams, &wide, &partial})
    if (each->defined()) bytes += static_cast<std::int64_t>(each->nbytes());
  return bytes;
}

}  // namespace cogen::nn
