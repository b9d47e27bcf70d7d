#include "sampling/softmax.hpp"

#include "sampling/row.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cogen {
namespace {

constexpr std::size_t sum_lanes = 8;
using float_lanes = float __attribute__((vector_size(sum_lanes * sizeof(float))));
using double_lanes = double __attribute__((vector_size(sum_lanes * sizeof(double))));

/// Compilers do not make vector instructions of the same sums written one by one.
[[gnu::always_inline]] inline double sum_of(const float* weights, std::size_t count) {
  double_lanes sums{};
  std::size_t i = 0;
  for (; i + sum_lanes <= count; i += sum_lanes) {
    float_lanes next;
    std::memcpy(&next, weights + i, sizeof next);
    sums += __builtin_convertvector(next, double_lanes);
  }
  for (std::size_t j = 0; i + j < count; ++j) sums[j] += weights[i + j];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

[[gnu::always_inline]] inline double weigh_block(const float* logits, std::size_t count, const softmax_scale& scale,
                                                 float* weights) {
  for (std::size_t i = 0; i < count; ++i) weights[i] = weight_of(logits[i], scale);
  return sum_of(weights, count);
}

/// A whole block's count is a constant, so that its loops become a few vector instructions.
[[gnu::always_inline]] inline double weigh_blocks(std::span<const float> logits, const softmax_scale& scale,
                                                  float* weights, double* block_sums) {
  double total = 0;
  const std::size_t whole = logits.size() / row_block;
  for (std::size_t b = 0; b < whole; ++b)
    total += block_sums[b] = weigh_block(logits.data() + b * row_block, row_block, scale, weights + b * row_block);
  if (const std::size_t rest = logits.size() % row_block; rest > 0)
    total += block_sums[whole] =
        weigh_block(logits.data() + whole * row_block, rest, scale, weights + whole * row_block);
  return total;
}

/// Without a branch for each weight: in a flat row half of them would be mispredicted.
std::size_t indices_portable(std::span<const float> weights, std::span<const double> block_sums, float bound,
                             std::uint32_t* ids) {
  std::size_t count = 0;
  for (std::size_t b = 0; b < block_sums.size(); ++b) {
    if (block_sums[b] < bound) continue;
    for (std::size_t i = b * row_block; i < std::min(weights.size(), (b + 1) * row_block); ++i) {
      ids[count] = static_cast<std::uint32_t>(i);
      count += weights[i] >= bound ? 1 : 0;
    }
  }
  return count;
}

double weigh_portable(std::span<const float> logits, const softmax_scale& scale, float* weights, double* block_sums) {
  return weigh_blocks(logits, scale, weights, block_sums);
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] std::size_t indices_avx512(std::span<const float> weights, std::span<const double>,
                                                      float bound, std::uint32_t* ids) {
  constexpr std::size_t lanes = 16;
  std::size_t count = 0;
  std::size_t i = 0;
  const auto bounds = _mm512_set1_ps(bound);
  auto indices = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + lanes <= weights.size(); i += lanes) {
    const auto kept = _mm512_cmp_ps_mask(_mm512_loadu_ps(weights.data() + i), bounds, _CMP_GE_OQ);
    if (kept != 0) _mm512_storeu_si512(ids + count, _mm512_maskz_compress_epi32(kept, indices));
    count += static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(kept)));
    indices = _mm512_add_epi32(indices, _mm512_set1_epi32(lanes));
  }
  for (; i < weights.size(); ++i)
    if (weights[i] >= bound) ids[count++] = static_cast<std::uint32_t>(i);
  return count;
}

[[gnu::target("avx2")]] double weigh_avx2(std::span<const float> logits, const softmax_scale& scale, float* weights,
                                          double* block_sums) {
  return weigh_blocks(logits, scale, weights, block_sums);
}

[[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl")]] double weigh_avx512(std::span<const float> logits,
                                                                               const softmax_scale& scale,
                                                                               float* weights, double* block_sums) {
  return weigh_blocks(logits, scale, weights, block_sums);
}
#endif

const row_passes& fastest_passes() {
  static const row_passes fastest = available_row_passes().back();
  return fastest;
}

}  // namespace

std::vector<row_passes> available_row_passes() {
  std::vector<row_passes> passes{{weigh_portable, indices_portable}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) passes.push_back({weigh_avx2, indices_portable});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    passes.push_back({weigh_avx512, indices_avx512});
#endif
  return passes;
}

double weigh_row(std::span<const float> logits, const softmax_scale& scale, std::vector<float>& weights,
                 std::vector<double>& block_sums) {
  weights.resize(logits.size());
  block_sums.resize((logits.size() + row_block - 1) / row_block);
  return fastest_passes().weigh(logits, scale, weights.data(), block_sums.data());
}

std::span<const std::uint32_t> indices_above(std::span<const float> weights, std::span<const double> block_sums,
                                             float bound, std::vector<std::uint32_t>& ids) {
  if (ids.size() < weights.size() + index_padding) ids.resize(weights.size() + index_padding);
  return {ids.data(), fastest_passes().indices_above(weights, block_sums, bound, ids.data())};
}

double weigh(std::span<candidate> candidates, const softmax_scale& scale) {
  for (auto& each : candidates) each.weight = weight_of(each.logit, scale);
  return total_weight(candidates);
}

double total_weight(std::span<const candidate> candidates) {
  std::array<double, sum_lanes> sums{};
  std::size_t i = 0;
  for (; i + sum_lanes <= candidates.size(); i += sum_lanes)
    for (std::size_t j = 0; j < sum_lanes; ++j) sums[j] += candidates[i + j].weight;
  for (std::size_t j = 0; i + j < candidates.size(); ++j) sums[j] += candidates[i + j].weight;
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace cogen
