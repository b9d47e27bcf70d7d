#pragma once

#include "network/backend/operators.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

namespace cogen::test {

inline double distance(const at::Tensor& got, const at::Tensor& expected) {
  const auto reference = expected.to(at::kCPU, at::kDouble);
  const auto off = (got.to(at::kCPU, at::kDouble) - reference).norm().item<double>();
  return off / std::max(1e-30, reference.norm().item<double>());
}

/// What a layer keeps, and lets queries see.
struct kept_tokens {
  int window = 0;
  std::optional<cache::sink_window> sinks = {};
  int ring = 0;
  bool fp8 = false;

  friend std::ostream& operator<<(std::ostream& out, const kept_tokens& kept) {
    return out << (kept.fp8 ? "fp8, " : "") << "window " << kept.window << ", " << (kept.sinks ? "sinks" : "no sinks")
               << ", ring " << kept.ring;
  }
};

/// The heads of a layer, and tokens of its slots.
struct attention_heads {
  int queries = 9;
  int keys = 3;
  int dim = 64;
  int places = 700;

  friend std::ostream& operator<<(std::ostream& out, const attention_heads& heads) {
    return out << heads.queries << " heads over " << heads.keys << " of " << heads.dim;
  }
};

/// A step of single tokens and prompts over a cache that holds random numbers.
struct attention_step {
  attention_step(std::vector<int> held, std::vector<int> counts, const kept_tokens& kept, at::ScalarType type,
                 const attention_heads& heads = {})
      : shape{.heads = heads.queries, .kv_heads = heads.keys, .head_dim = heads.dim, .scale = 0.125F},
        layers(2, {.kind = kept.window > 0 ? cache::layer_kind::sliding : cache::layer_kind::full,
                   .kv_heads = heads.keys,
                   .head_dim = heads.dim,
                   .window = kept.window}),
        memory(layers, {.device = at::kCUDA,
                        .type = kept.fp8 ? at::kFloat8_e4m3fn : type,
                        .slots = static_cast<int>(held.size()),
                        .max_sequence_length = heads.places,
                        .sinks = kept.sinks,
                        .ring = kept.ring}) {
    std::vector<std::int32_t> slots, positions, starts{0}, origins, lengths;
    for (std::size_t row = 0; row < held.size(); ++row) {
      const int slot = static_cast<int>(held.size() - 1 - row);
      for (int i = 0; i < counts[row]; ++i) {
        slots.push_back(slot);
        positions.push_back(held[row] + i);
      }
      if (counts[row] == 1) {
        ++rows.single;
        continue;
      }
      rows.prompts.push_back({slot, held[row], counts[row]});
      starts.push_back(starts.back() + counts[row]);
      origins.push_back(static_cast<std::int32_t>(memory.origin(slot)));
      lengths.push_back(held[row] + counts[row]);
      rows.longest = std::max<std::int64_t>(rows.longest, counts[row]);
      rows.reach = std::max<std::int64_t>(rows.reach, lengths.back());
    }
    origins.push_back(0);
    const auto sent = [](const std::vector<std::int32_t>& values) {
      return at::tensor(values, at::kInt).to(at::kCUDA);
    };
    rows.slots = sent(slots);
    rows.positions = sent(positions);
    rows.prompt_starts = sent(starts);
    rows.prompt_origins = sent(origins);
    rows.prompt_lengths = sent(lengths);
    for (int layer = 0; layer < memory.layers(); ++layer) {
      for (const auto& numbers : {memory.layer(layer).keys, memory.layer(layer).values})
        numbers.copy_(at::randn(numbers.sizes(), at::TensorOptions(at::kCUDA).dtype(at::kFloat)));
    }
    tokens = static_cast<std::int64_t>(slots.size());
  }

  device::attention_shape shape;
  std::vector<cache::kv_cache_spec> layers;
  cache::device_cache memory;
  device::step_rows rows;
  std::int64_t tokens = 0;
};

}  // namespace cogen::test
