#include "network/kernels/tiled_matrix.hpp"

#include "network/kernels/tile_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace cogen::kernels {
namespace {

void check(const weight_source& source, std::int64_t inputs) {
  if (source.rows <= 0) throw std::invalid_argument(fmt::format("a matrix of {} rows cannot be tiled", source.rows));
  if (!has_tiles(source.format))
    throw std::invalid_argument(fmt::format("a matrix of {} cannot be tiled", to_string(source.format)));
  if (inputs <= 0) throw std::invalid_argument(fmt::format("a matrix of {} columns cannot be tiled", inputs));
  row_bytes(source.format, inputs);
}

// Which rows of which source a tile holds.
struct tile_rows {
  const weight_source* source;
  std::int64_t first;
  std::int64_t last;
};

struct tile_plan {
  std::vector<tile_rows> rows;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  std::int64_t outputs = 0;
};

tile_plan plan_tiles(std::span<const weight_source> sources, std::int64_t inputs) {
  tile_plan plan;
  for (const weight_source& source : sources) {
    check(source, inputs);
    const std::size_t bytes = tile_bytes(storage_of(source.format), inputs);
    for (std::int64_t row = 0; row < source.rows; row += tile_lanes) {
      plan.rows.push_back({&source, row, std::min(row + tile_lanes, source.rows)});
      plan.offsets.push_back(plan.bytes);
      plan.bytes += bytes;
    }
    plan.outputs += source.rows;
  }
  return plan;
}

// Room for the rows of one tile, whichever source they are of, for each thread. Nothing is written to it here.
class row_scratch {
 public:
  row_scratch(std::span<const weight_source> sources, std::int64_t inputs, int threads) {
    for (const weight_source& source : sources)
      lines_ = std::max(lines_, (row_bytes(source.format, inputs) * tile_lanes + line_bytes - 1) / line_bytes);
    memory_ = std::make_unique_for_overwrite<line[]>(static_cast<std::size_t>(lines_ * threads));
  }

  std::byte* memory(int thread) { return memory_[static_cast<std::size_t>(lines_ * thread)].bytes; }

 private:
  static constexpr std::int64_t line_bytes = 64;
  struct alignas(line_bytes) line {
    std::byte bytes[line_bytes];
  };

  std::int64_t lines_ = 0;
  std::unique_ptr<line[]> memory_;
};

void pack_rows(const tile_rows& rows, std::int64_t inputs, std::byte* scratch, std::byte* tile) {
  const std::byte* read = rows.source->read(rows.first, rows.last, scratch);
  pack_tile({rows.source->format, read, rows.last - rows.first, inputs, rows.source->factor}, tile);
}

}  // namespace

std::int64_t row_bytes(element_type format, std::int64_t inputs) {
  const auto block = layout(format);
  if (inputs % block.elements != 0)
    throw std::invalid_argument(fmt::format("rows of {} weights are not a multiple of the {} that a block of {} holds",
                                            inputs, block.elements, to_string(format)));
  return inputs / block.elements * block.bytes;
}

tiled_matrix::tiled_matrix(std::span<const weight_source> sources, std::int64_t inputs, worker_pool& workers,
                           weight_arena* arena) {
  const tile_plan plan = plan_tiles(sources, inputs);
  if (plan.rows.empty()) throw std::invalid_argument("a matrix of no sources cannot be tiled");
  weight_arena own(plan.bytes);
  data_ = (arena ? *arena : own).take(plan.bytes);
  row_scratch scratch(sources, inputs, workers.threads());
  workers.parallel(static_cast<std::int64_t>(plan.rows.size()), [&](std::int64_t tile, int thread) {
    const auto index = static_cast<std::size_t>(tile);
    pack_rows(plan.rows[index], inputs, scratch.memory(thread), data_.get() + plan.offsets[index]);
  });
  std::int64_t first = 0;
  for (std::size_t index = 0; index < plan.rows.size(); ++index) {
    const tile_rows& rows = plan.rows[index];
    const auto columns = static_cast<std::int32_t>(rows.last - rows.first);
    const weight_storage storage = storage_of(rows.source->format);
    tiles_.push_back({data_.get() + plan.offsets[index], first, columns, storage});
    storages_ |= 1U << static_cast<unsigned>(storage);
    first += columns;
  }
  outputs_ = plan.outputs;
  inputs_ = inputs;
  bytes_ = plan.bytes;
}

void tiled_matrix::row(std::int64_t output, float* out) const {
  const auto after = std::ranges::upper_bound(tiles_, output, {}, &tile::first);
  const tile& holder = *std::prev(after);
  unpack_row(holder.storage, holder.data, inputs_, static_cast<int>(output - holder.first), out);
}

tiled_matrix pack(const float* weights, std::int64_t outputs, std::int64_t inputs, worker_pool& workers) {
  const weight_source source{element_type::f32, outputs, [&](std::int64_t first, std::int64_t, std::byte*) {
                               return reinterpret_cast<const std::byte*>(weights + first * inputs);
                             }};
  return tiled_matrix({&source, 1}, inputs, workers);
}

}  // namespace cogen::kernels
