#include "network/kernels/embed.hpp"

#include "network/kernels/row_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace cogen::kernels {

void embed(const execution& run, const tiled_matrix& table, std::span<const token> tokens, float* out,
           std::int64_t out_stride, float scale) {
  for (const token each : tokens)
    if (each < 0 || each >= table.outputs())
      throw std::invalid_argument(
          fmt::format("token {} is outside the vocabulary of {} tokens", each, table.outputs()));
  for_each_row(*run.workers, static_cast<std::int64_t>(tokens.size()), table.inputs(), [&](std::int64_t row) {
    float* target = out + row * out_stride;
    table.row(tokens[static_cast<std::size_t>(row)], target);
    if (scale != 1.0F) std::for_each_n(target, table.inputs(), [scale](float& value) { value *= scale; });
  });
}

}  // namespace cogen::kernels
