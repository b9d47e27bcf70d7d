#include "network/kernels/quantized_activations.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {
namespace {

constexpr std::int64_t line = 64;  // bytes of the cache

// Bytes of one row in each form; 0 where no tile needs it.
struct row_forms {
  std::int64_t groups = 0;
  std::int64_t bf16 = 0;

  // Before the rows in bf16.
  std::int64_t all_groups(std::int64_t rows) const { return rounded_up(rows * groups, line); }
};

row_forms forms_for(const execution& run, const tiled_matrix& weights) {
  row_forms forms;
  if (run.mode == compute_type::float32) return forms;
  if (weights.holds_integers())
    forms.groups = weights.inputs() / quantized_group * std::int64_t{sizeof(activation_group)};
  if (weights.holds(weight_storage::bf16) && int8_kernels_of(run.set).multiply_bf16)
    forms.bf16 = rounded_up(2 * weights.inputs(), line);
  return forms;
}

}  // namespace

std::int64_t quantized_activations::floats(const execution& run, const tiled_matrix& weights, std::int64_t rows) {
  const auto forms = forms_for(run, weights);
  return (forms.all_groups(rows) + rows * forms.bf16) / std::int64_t{sizeof(float)};
}

quantized_activations::quantized_activations(const execution& run, const tiled_matrix& weights,
                                             const linear_operands& operands) {
  const auto forms = forms_for(run, weights);
  const auto [groups, bf16] = forms;
  if (groups + bf16 == 0 && !operands.maker) return;
  const int8_table& kernels = int8_kernels_of(run.set);
  auto* const all_groups = reinterpret_cast<std::byte*>(operands.scratch);
  std::byte* const all_bf16 = all_groups + forms.all_groups(operands.rows);
  for_each_row(*run.workers, operands.rows, weights.inputs(), [&](std::int64_t row) {
    if (operands.maker) operands.maker->make(row);
    const float* x = operands.x[row];
    if (groups > 0)
      kernels.quantize(x, weights.inputs(), reinterpret_cast<activation_group*>(all_groups + row * groups));
    if (bf16 > 0) kernels.round(x, weights.inputs(), reinterpret_cast<std::uint16_t*>(all_bf16 + row * bf16));
  });
  if (groups > 0) multiply_ = kernels.multiply;
  if (bf16 > 0) multiply_bf16_ = kernels.multiply_bf16;
  groups_ = {all_groups, groups};
  bf16_ = {all_bf16, bf16};
}

void quantized_activations::multiply(int8_job job, std::int64_t first) const {
  job.x = (job.storage == weight_storage::bf16 ? bf16_ : groups_).rest(first);
  kernel_for(job.storage)(job);
}

}  // namespace cogen::kernels
