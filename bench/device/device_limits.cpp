#include "device_limits.hpp"

#include "network/backend/stream.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string_view>

namespace cogen::bench {

namespace {

using seconds = std::chrono::duration<double>;

/// The shortest of five runs of `work`, which enqueues; of a single one where the host itself computes.
double shortest(const device::backend& where, device::stream& queue, const std::function<void()>& work) {
  work();
  double least = 1e300;
  for (int i = 0; i < (where.device().is_cpu() ? 1 : 5); ++i) {
    queue.wait();
    const auto begin = std::chrono::steady_clock::now();
    work();
    queue.wait();
    least = std::min(least, seconds(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

}  // namespace

double copy_bandwidth(const device::backend& where) {
  const std::int64_t size = std::int64_t{1} << (where.device().is_cpu() ? 27 : 31);
  constexpr int copies = 10;
  const auto stream = where.make_stream();
  double took = 0;
  stream->run_on_stream([&] {
    const auto source = at::empty({size}, at::TensorOptions(where.device()).dtype(at::kByte)).fill_(1);
    auto target = at::empty_like(source);
    took = shortest(where, *stream, [&] {
      for (int i = 0; i < copies; ++i) target.copy_(source, true);
    });
  });
  return 2.0 * copies * static_cast<double>(size) / took;
}

double product_rate(const device::backend& where) {
  const std::int64_t size = where.device().is_cpu() ? 512 : 8192;
  constexpr int products = 4;
  const auto stream = where.make_stream();
  double took = 0;
  stream->run_on_stream([&] {
    const auto a = at::empty({size, size}, at::TensorOptions(where.device()).dtype(at::kBFloat16)).fill_(0.5);
    const auto b = at::empty_like(a).fill_(0.25);
    auto c = at::empty_like(a);
    took = shortest(where, *stream, [&] {
      for (int i = 0; i < products; ++i) at::mm_out(c, a, b);
    });
  });
  const auto side = static_cast<double>(size);
  return 2.0 * products * side * side * side / took;
}

std::optional<double> prompt_operations(const model& lm, int prompts, int tokens) {
  constexpr std::array<std::string_view, 4> families{"llama", "mistral", "qwen2", "qwen3"};
  const auto& config = lm.config();
  if (std::ranges::find(families, config.family) == families.end()) return std::nullopt;
  const auto queries = static_cast<double>(config.heads * config.head_dim);
  const auto keys_and_values = static_cast<double>(2 * config.kv_heads * config.head_dim);
  const auto hidden = static_cast<double>(config.hidden), inner = static_cast<double>(config.intermediate);
  const double weights = hidden * (2 * queries + keys_and_values + 3 * inner);
  const double attended = 2 * queries * (tokens + 1) / 2;  // by a token, on average: scores, and sums of values
  const double token = 2 * static_cast<double>(config.layers) * (weights + attended);
  return prompts * (tokens * token + 2 * hidden * static_cast<double>(config.vocabulary));
}

}  // namespace cogen::bench
