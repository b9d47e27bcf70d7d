#include "network/kernels/rope.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cogen::kernels {
namespace {

struct turn {
  double cosine;
  double sine;
};

turn turn_by(double angle) { return {std::cos(angle), std::sin(angle)}; }

turn after(const turn& a, const turn& b) {
  return {a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}

void check(std::size_t pairs, std::int64_t positions) {
  if (pairs == 0 || pairs > max_head_dim / 2)
    throw std::invalid_argument(
        fmt::format("a rotation of {} pairs of dimensions; 1 to {} are possible", pairs, max_head_dim / 2));
  if (positions <= 0) throw std::invalid_argument(fmt::format("a rotation for {} positions", positions));
}

void check_head(int dims) {
  if (dims <= 0 || dims > max_head_dim)
    throw std::invalid_argument(fmt::format("keys of {} dimensions; 1 to {} are possible", dims, max_head_dim));
}

}  // namespace

rope_table::rope_table(std::span<const double> inverse_frequencies, double attention_scaling, std::int64_t positions)
    : frequencies_(inverse_frequencies.begin(), inverse_frequencies.end()),
      scaling_(attention_scaling),
      pairs_(static_cast<int>(inverse_frequencies.size())),
      positions_(positions) {
  check(inverse_frequencies.size(), positions);
  values_.resize(static_cast<std::size_t>(positions * 2 * pairs_));
  constexpr std::int64_t stride = 64;
  std::vector<turn> small(stride);
  for (int pair = 0; pair < pairs_; ++pair) {
    // Position = coarse + fine: two short tables of exact turns, one multiplication of complex numbers each.
    const double frequency = inverse_frequencies[static_cast<std::size_t>(pair)];
    for (std::int64_t fine = 0; fine < stride; ++fine)
      small[static_cast<std::size_t>(fine)] = turn_by(static_cast<double>(fine) * frequency);
    for (std::int64_t coarse = 0; coarse < positions; coarse += stride) {
      const turn large = turn_by(static_cast<double>(coarse) * frequency);
      for (std::int64_t fine = 0; fine < std::min(stride, positions - coarse); ++fine) {
        const turn both = after(large, small[static_cast<std::size_t>(fine)]);
        float* entry = values_.data() + (coarse + fine) * 2 * pairs_ + pair;
        entry[0] = static_cast<float>(both.cosine * attention_scaling);
        entry[pairs_] = static_cast<float>(both.sine * attention_scaling);
      }
    }
  }
}

const float* rope_table::angles(std::int64_t position, float* spare) const {
  if (position < positions_) return values_.data() + position * 2 * pairs_;
  for (int pair = 0; pair < pairs_; ++pair) {
    const turn turned = turn_by(static_cast<double>(position) * frequencies_[static_cast<std::size_t>(pair)]);
    spare[pair] = static_cast<float>(turned.cosine * scaling_);
    spare[pair + pairs_] = static_cast<float>(turned.sine * scaling_);
  }
  return spare;
}

void rope_append(const execution& run, const rope_table* table, std::span<const token_rows> rows,
                 const qkv_operands& operands) {
  for (const token_rows& row : rows) check_head(row.cache.head_dim);
  const kernel_table& kernels = kernels_of(run.set);
  for_each_token(*run.workers, rows, [&](const token_rows& row, std::int64_t index) {
    const std::int64_t token = row.first + index;
    const std::int64_t position = row.offset + index;
    const cache::kv_view& view = row.cache;
    float spare[max_head_dim];
    rope_append_job job{.rotation = nullptr,
                        .pairs = table ? table->pairs() : 0,
                        .first_rotated = operands.first_rotated,
                        .q = operands.q[token],
                        .k = operands.k.data ? operands.k[token] : nullptr,
                        .v = operands.v.data ? operands.v[token] : nullptr,
                        .heads = operands.heads,
                        .kv_heads = operands.k.data ? view.kv_heads : 0,
                        .head_dim = view.head_dim,
                        .type = view.type,
                        .key = view.key(position, 0),
                        .key_stride = cache::block_tokens * cache::bytes_of(view.type),
                        .value = view.latent_dim > 0 ? nullptr : view.value(position, 0),
                        .head_stride = view.head_stride};
    if (view.span.sinks > 0) {
      rope_append_job inside = job;
      inside.q = operands.sink_q[token];
      inside.kv_heads = 0;
      std::copy_n(job.q, std::int64_t{job.heads} * job.head_dim, inside.q);
      const std::int64_t last = std::int64_t{view.span.sinks} + view.span.window - 1;
      if (table) inside.rotation = table->angles(std::min(position, last), spare);
      kernels.rope_append(inside);
    }
    if (table) job.rotation = table->angles(position, spare);
    kernels.rope_append(job);
  });
}

}  // namespace cogen::kernels
