#include "kernels/linear.hpp"

#include <algorithm>

#include "kernels/kernel_choice.hpp"

namespace cogen::kernels {
namespace {

constexpr std::int64_t half_tile = tile_lanes / 2;
constexpr std::int64_t tasks_per_thread = 8;
constexpr std::int64_t task_bytes = 64 << 10;
constexpr std::int64_t rows_worth_a_task = 48;

std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

// How a product is cut into tasks: ranges of half tiles, times ranges of rows. It changes nothing but the speed.
struct partition {
  std::int64_t halves;  // half tiles in all
  std::int64_t halves_per_task;
  std::int64_t column_tasks;
  std::int64_t row_tasks;

  std::int64_t tasks() const { return column_tasks * row_tasks; }
};

partition partition_of(const packed_matrix& weights, std::int64_t rows, std::int64_t threads) {
  partition cut{};
  cut.halves = static_cast<std::int64_t>(weights.tiles().size()) * 2;
  const auto half_bytes = static_cast<std::int64_t>(weights.bytes()) / cut.halves;
  const std::int64_t by_threads = cut.halves / (threads * tasks_per_thread);
  const std::int64_t by_bytes = task_bytes / std::max<std::int64_t>(half_bytes, 1);
  cut.halves_per_task = std::max<std::int64_t>(1, std::min(by_threads, by_bytes));
  if (cut.halves_per_task > 1) cut.halves_per_task &= ~std::int64_t{1};
  cut.column_tasks = divided_up(cut.halves, cut.halves_per_task);
  const std::int64_t wanted = divided_up(threads * tasks_per_thread, cut.column_tasks);
  const std::int64_t most = std::max<std::int64_t>(1, rows / rows_worth_a_task);
  cut.row_tasks = std::max(divided_up(rows, max_linear_rows), std::min(wanted, most));
  return cut;
}

class product {
 public:
  product(const execution& run, const packed_matrix& weights, const linear_operands& operands)
      : multiply_(kernels_of(run.set).linear),
        weights_(weights),
        operands_(operands),
        cut_(partition_of(weights, operands.rows, run.workers->threads())) {}

  std::int64_t tasks() const { return cut_.tasks(); }

  void run_task(std::int64_t task) const {
    const std::int64_t rows_at = task % cut_.row_tasks;
    const std::int64_t first_row = operands_.rows * rows_at / cut_.row_tasks;
    const std::int64_t last_row = operands_.rows * (rows_at + 1) / cut_.row_tasks;
    const std::int64_t first = task / cut_.row_tasks * cut_.halves_per_task;
    const std::int64_t last = std::min(first + cut_.halves_per_task, cut_.halves);
    for (std::int64_t half = first; half < last;) {
      const std::int64_t next = half % 2 == 0 && half + 1 < last ? half + 2 : half + 1;
      multiply(half, next, first_row, last_row);
      half = next;
    }
  }

 private:
  // One tile, or half of one.
  void multiply(std::int64_t half, std::int64_t next, std::int64_t first_row, std::int64_t last_row) const {
    const packed_matrix::tile& tile = weights_.tiles()[static_cast<std::size_t>(half / 2)];
    linear_job job{};
    job.tile = tile.data;
    job.storage = tile.storage;
    job.first_lane = static_cast<int>(half % 2 * half_tile);
    job.last_lane = std::min(static_cast<int>((next - half / 2 * 2) * half_tile), static_cast<int>(tile.columns));
    if (job.first_lane >= job.last_lane) return;
    job.inputs = weights_.inputs();
    job.x = operands_.x + first_row * operands_.x_stride;
    job.x_stride = operands_.x_stride;
    job.y = operands_.y + first_row * operands_.y_stride + tile.first;
    job.y_stride = operands_.y_stride;
    job.rows = last_row - first_row;
    job.bias = operands_.bias ? operands_.bias + tile.first : nullptr;
    job.add_to_y = operands_.add_to_y;
    multiply_(job);
  }

  void (*multiply_)(const linear_job& job);
  const packed_matrix& weights_;
  const linear_operands& operands_;
  partition cut_;
};

}  // namespace

void linear(const execution& run, const packed_matrix& weights, const linear_operands& operands) {
  if (operands.rows == 0 || weights.empty()) return;
  const product whole(run, weights, operands);
  run.workers->parallel(whole.tasks(), [&](std::int64_t task, int) { whole.run_task(task); });
}

}  // namespace cogen::kernels
