#include "network/backend/rotation_tables.hpp"

#include "network/backend/cpu/rope.hpp"
#include "network/kernels/rope.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

namespace cogen::device {

namespace {

constexpr std::int64_t min_near = 1 << 15;
constexpr std::int64_t max_near = 1 << 18;
constexpr std::int64_t all_positions = std::int64_t{1} << 30;

/// Cosines and sines at the multiples 0 to `count` of `step` positions: [count, 2 * pairs] float32.
at::Tensor angles(std::vector<double> frequencies, double scaling, std::int64_t step, std::int64_t count,
                  at::Device device) {
  for (auto& each : frequencies) each *= static_cast<double>(step);
  const kernels::rope_table table(frequencies, scaling, count);
  auto values = at::empty({count, 2 * table.pairs()}, at::kFloat);
  float* row = values.mutable_data_ptr<float>();
  for (std::int64_t position = 0; position < count; ++position)
    row = std::copy_n(table.angles(position, nullptr), values.size(1), row);
  return values.to(device);
}

}  // namespace

device::rotation make_rotation(const load::rope_config& rope, std::int64_t positions, at::Device device,
                               std::int64_t room) {
  const auto turns = cpu::frequencies(rope, room);
  const auto near = std::clamp(positions, min_near, max_near);
  return {.near = angles(turns.inverse, turns.attention_scaling, 1, near, device),
          .far = angles(turns.inverse, 1, near, all_positions / near + 1, device)};
}

}  // namespace cogen::device
