#include "network/weights/distance_biases.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cogen::weights {

namespace {

/// The first half of the buckets has one distance each, the second as many as grow with it. In float32, as models were
/// trained.
std::int64_t bucket_of(std::int64_t distance, std::int64_t buckets, std::int64_t max_distance) {
  const auto single = buckets / 2;
  if (distance < single) return distance;
  const float turns = std::log(static_cast<float>(distance) / static_cast<float>(single)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(single)));
  return std::min(single + static_cast<std::int64_t>(turns * static_cast<float>(buckets - single)), buckets - 1);
}

std::int64_t bucket_of(std::int64_t offset, const models::relative_bias_spec& bias) {
  if (!bias.both_ways) return bucket_of(std::max<std::int64_t>(-offset, 0), bias.buckets, bias.max_distance);
  const auto half = bias.buckets / 2;
  return (offset > 0 ? half : 0) + bucket_of(std::abs(offset), half, bias.max_distance);
}

}  // namespace

std::vector<float> distance_biases(const models::attention_spec& spec, const read_numbers& read) {
  if (!spec.relative_bias) return {};
  const auto& bias = *spec.relative_bias;
  const std::int64_t heads = spec.all_heads();
  const auto learned = read(bias.name + ".weight", {bias.buckets, heads});
  std::vector<float> biases;
  for (auto head = spec.q_shard.first; head < spec.q_shard.first + spec.heads; ++head)
    for (auto offset = -bias.max_distance; offset <= bias.max_distance; ++offset)
      biases.push_back(learned[static_cast<std::size_t>(bucket_of(offset, bias) * heads + head)]);
  return biases;
}

}  // namespace cogen::weights
