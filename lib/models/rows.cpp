#include "models/rows.hpp"

#include "kernels/row_tasks.hpp"

#include <algorithm>
#include <cmath>

namespace cogen::models {

layers::activations keep(std::span<const int> outputs, const layers::activations& x) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (static_cast<std::size_t>(outputs[i]) == i) continue;
    std::copy_n(x.row(outputs[i]), x.columns, x.row(static_cast<std::int64_t>(i)));
  }
  return x.first_rows(static_cast<std::int64_t>(outputs.size()));
}

void cap(const layers::forward_context& context, const layers::activations& x, float limit) {
  kernels::for_each_row(*context.run.workers, x.rows, x.columns, [&](std::int64_t row) {
    std::for_each_n(x.row(row), x.columns, [limit](float& value) { value = limit * std::tanh(value / limit); });
  });
}

}  // namespace cogen::models
