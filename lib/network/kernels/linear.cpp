#include "network/kernels/linear.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/quantized_activations.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cogen::kernels {
namespace {

constexpr std::int64_t half_tile = tile_lanes / 2;
constexpr std::int64_t tasks_per_thread = 6;
constexpr std::int64_t task_bytes = 256 << 10;
constexpr std::int64_t rows_worth_a_task = 48;
static_assert(max_int8_rows == max_linear_rows);

// How a product is cut into tasks: runs of whole tiles, then halves of those tiles that do not spread evenly over the
// threads, times ranges of rows. It changes nothing but the speed.
class partition {
 public:
  partition(const tiled_matrix& weights, std::int64_t rows, std::int64_t threads) {
    const auto tiles = static_cast<std::int64_t>(weights.tiles().size());
    const auto tile_bytes = static_cast<std::int64_t>(weights.bytes()) / tiles;
    const std::int64_t by_threads = tiles / (threads * tasks_per_thread);
    const std::int64_t by_bytes = task_bytes / std::max<std::int64_t>(tile_bytes, 1);
    run_tiles_ = std::max<std::int64_t>(1, std::min(by_threads, by_bytes));
    whole_tiles_ = run_tiles_ > 1 ? tiles : tiles - tiles % threads;
    runs_ = divided_up(whole_tiles_, run_tiles_);
    columns_ = runs_ + 2 * (tiles - whole_tiles_);
    const std::int64_t wanted = divided_up(threads * tasks_per_thread, columns_);
    const std::int64_t most = std::max<std::int64_t>(1, rows / rows_worth_a_task);
    row_ranges_ = std::max(divided_up(rows, max_linear_rows), std::min(wanted, most));
  }

  std::int64_t tasks() const { return columns_ * row_ranges_; }
  std::int64_t run_tiles() const { return run_tiles_; }

  struct range {
    std::int64_t first;
    std::int64_t last;
  };

  // Counted in half tiles.
  range halves(std::int64_t task) const {
    const std::int64_t column = task / row_ranges_;
    if (column >= runs_) {
      const std::int64_t half = 2 * whole_tiles_ + column - runs_;
      return {half, half + 1};
    }
    return {2 * column * run_tiles_, 2 * std::min((column + 1) * run_tiles_, whole_tiles_)};
  }

  range rows(std::int64_t task, std::int64_t rows) const {
    const std::int64_t index = task % row_ranges_;
    return {rows * index / row_ranges_, rows * (index + 1) / row_ranges_};
  }

 private:
  std::int64_t run_tiles_;
  std::int64_t whole_tiles_;
  std::int64_t runs_;
  std::int64_t columns_;
  std::int64_t row_ranges_;
};

class product {
 public:
  product(const execution& run, const tiled_matrix& weights, const linear_operands& operands)
      : multiply_(kernels_of(run.set).linear),
        weights_(weights),
        operands_(operands),
        rounded_(run, weights, operands),
        cut_(weights, operands.rows, run.workers->threads()) {}

  std::int64_t tasks() const { return cut_.tasks(); }

  // The first tile of a task; where there are no more, of one of the next matrix, which mostly lies behind this one.
  const std::byte* weights_of(std::int64_t task) const {
    const std::int64_t beyond = task - tasks();
    if (beyond < 0) return tile_of(cut_.halves(task).first);
    const auto tile_bytes = weights_.bytes() / weights_.tiles().size();
    return tile_of(0) + weights_.bytes() + beyond * cut_.run_tiles() * static_cast<std::int64_t>(tile_bytes);
  }

  // After it this thread reads what is at `next`.
  void run_task(std::int64_t task, const std::byte* next) const {
    const auto [first, last] = cut_.halves(task);
    for (std::int64_t half = first; half < last;) {
      const std::int64_t end = std::min(half / 2 * 2 + 2, last);
      multiply(half, end, cut_.rows(task, operands_.rows), end < last ? tile_of(end) : next);
      half = end;
    }
  }

 private:
  const std::byte* tile_of(std::int64_t half) const {
    return weights_.tiles()[static_cast<std::size_t>(half / 2)].data;
  }

  // One tile, or half of one; after it this thread reads what is at `next`.
  void multiply(std::int64_t half, std::int64_t end, partition::range rows, const std::byte* next) const {
    const tiled_matrix::tile& tile = weights_.tiles()[static_cast<std::size_t>(half / 2)];
    const auto first = static_cast<int>(half % 2 * half_tile);
    const int last = std::min(static_cast<int>((end - half / 2 * 2) * half_tile), static_cast<int>(tile.columns));
    if (first >= last) return;
    if (rounded_.serve(tile.storage)) {
      auto job = job_for<int8_job>(tile, first, last, rows);
      job.ahead = next - tile.data;
      rounded_.multiply(job, rows.first);
    } else {
      auto job = job_for<linear_job>(tile, first, last, rows);
      job.x = operands_.x.rest(rows.first);
      multiply_(job);
    }
  }

  // All but the rows that are read.
  template <class Job>
  Job job_for(const tiled_matrix::tile& tile, int first_lane, int last_lane, partition::range rows) const {
    Job job{};
    job.tile = tile.data;
    job.storage = tile.storage;
    job.first_lane = first_lane;
    job.last_lane = last_lane;
    job.inputs = weights_.inputs();
    job.y = operands_.y.rest(rows.first, tile.first);
    job.rows = rows.last - rows.first;
    job.bias = operands_.bias ? operands_.bias + tile.first : nullptr;
    job.add_to_y = operands_.add_to_y;
    return job;
  }

  void (*multiply_)(const linear_job& job);
  const tiled_matrix& weights_;
  const linear_operands& operands_;
  quantized_activations rounded_;
  partition cut_;
};

// Rows that are rounded are rounded in a region of their own, a product in each task.
void multiply_together(const execution& run, std::span<const linear_product> products) {
  std::array<std::optional<product>, max_together> prepared;
  std::array<std::int64_t, max_together + 1> first{};
  const auto count = static_cast<std::int64_t>(products.size());
  const auto prepare = [&](std::int64_t index, int) {
    const auto& [weights, operands] = products[static_cast<std::size_t>(index)];
    if (!weights->empty() && operands.rows > 0)
      prepared[static_cast<std::size_t>(index)].emplace(run, *weights, operands);
  };
  run.workers->parallel(count, prepare);
  for (std::size_t index = 0; index < products.size(); ++index)
    first[index + 1] = first[index] + (prepared[index] ? prepared[index]->tasks() : 0);
  const auto ends = std::span(first).subspan(1, products.size());
  const auto product_of = [&](std::int64_t task) {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends, task) - ends.begin());
  };
  run.workers->parallel(ends.back(), [&](std::int64_t task, int) {
    const std::int64_t next = task + run.workers->threads();
    const auto index = product_of(task), next_index = product_of(std::min(next, ends.back() - 1));
    prepared[index]->run_task(task - first[index], prepared[next_index]->weights_of(next - first[next_index]));
  });
}

}  // namespace

std::int64_t linear_scratch_floats(const execution& run, const tiled_matrix& weights, std::int64_t rows) {
  return quantized_activations::floats(run, weights, rows);
}

void linear(const execution& run, const tiled_matrix& weights, const linear_operands& operands) {
  if (operands.rows == 0 || weights.empty()) return;
  const product whole(run, weights, operands);
  run.workers->parallel(whole.tasks(), [&](std::int64_t task, int) {
    whole.run_task(task, whole.weights_of(task + run.workers->threads()));
  });
}

void linear(const execution& run, std::span<const linear_product> products) {
  for (; !products.empty(); products = products.subspan(std::min(max_together, products.size())))
    multiply_together(run, products.first(std::min(max_together, products.size())));
}

}  // namespace cogen::kernels
