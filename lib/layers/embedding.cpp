#include "layers/embedding.hpp"

#include "kernels/embed.hpp"
#include "kernels/linear.hpp"
#include "kernels/row_tasks.hpp"
#include "layers/projection.hpp"

namespace cogen::layers {

void embedding::operator()(const forward_context& context, std::span<const token> tokens,
                           const activations& out) const {
  kernels::embed(context.run, *table_, tokens, out.data, out.stride, scale_);
}

learned_positions::learned_positions(weight_reader& weights, const std::string& name, std::int64_t offset,
                                     std::int64_t positions, std::int64_t hidden)
    : hidden_(hidden), table_(weights.numbers(name, {offset + positions, hidden})) {
  table_.erase(table_.begin(), table_.begin() + offset * hidden);
}

void learned_positions::add(const forward_context& context, const activations& out) const {
  kernels::for_each_token(*context.run.workers, context.rows, [&](const kernels::token_rows& row, std::int64_t at) {
    const float* position = table_.data() + (row.offset + at) * hidden_;
    float* to = out.row(row.first + at);
    for (std::int64_t column = 0; column < hidden_; ++column) to[column] += position[column];
  });
}

void head::operator()(const forward_context& context, const activations& x, const activations& logits) const {
  const arena::scope scratch(context.space);
  kernels::linear(context.run, *weights_,
                  {.x = x.data,
                   .x_stride = x.stride,
                   .y = logits.data,
                   .y_stride = logits.stride,
                   .rows = x.rows,
                   .scratch = linear_scratch(context, *weights_, x.rows)});
}

}  // namespace cogen::layers
