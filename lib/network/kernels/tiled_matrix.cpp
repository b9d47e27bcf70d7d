#include "network/kernels/tiled_matrix.hpp"

#include "network/kernels/tile_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace cogen::kernels {
namespace {

struct format_traits {
  std::string_view name;
  std::int64_t block_inputs;
  std::int64_t block_bytes;
};

format_traits traits_of(weight_format format) {
  switch (format) {
    case weight_format::f32:
      return {"f32", 1, 4};
    case weight_format::f16:
      return {"f16", 1, 2};
    case weight_format::bf16:
      return {"bf16", 1, 2};
    case weight_format::q4_0:
      return {"q4_0", 32, 18};
    case weight_format::q4_1:
      return {"q4_1", 32, 20};
    case weight_format::q5_0:
      return {"q5_0", 32, 22};
    case weight_format::q5_1:
      return {"q5_1", 32, 24};
    case weight_format::q8_0:
      return {"q8_0", 32, 34};
    case weight_format::iq4_nl:
      return {"iq4_nl", 32, 18};
    case weight_format::mxfp4:
      return {"mxfp4", 32, 17};
    case weight_format::q2_k:
      return {"q2_k", 256, 84};
    case weight_format::q3_k:
      return {"q3_k", 256, 110};
    case weight_format::q4_k:
      return {"q4_k", 256, 144};
    case weight_format::q5_k:
      return {"q5_k", 256, 176};
    case weight_format::q6_k:
      return {"q6_k", 256, 210};
    case weight_format::iq4_xs:
      return {"iq4_xs", 256, 136};
  }
  throw std::invalid_argument(fmt::format("unknown weight format {}", static_cast<int>(format)));
}

void check(const weight_source& source, std::int64_t inputs) {
  if (source.rows <= 0) throw std::invalid_argument(fmt::format("a matrix of {} rows cannot be tiled", source.rows));
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
  pack_tile({rows.source->format, read, rows.last - rows.first, inputs}, tile);
}

}  // namespace

std::string_view name_of(weight_format format) { return traits_of(format).name; }

std::int64_t row_bytes(weight_format format, std::int64_t inputs) {
  const format_traits traits = traits_of(format);
  if (inputs % traits.block_inputs != 0)
    throw std::invalid_argument(fmt::format("rows of {} weights are no multiple of the {} that a block of {} holds",
                                            inputs, traits.block_inputs, traits.name));
  return inputs / traits.block_inputs * traits.block_bytes;
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
  const weight_source source{weight_format::f32, outputs, [&](std::int64_t first, std::int64_t, std::byte*) {
                               return reinterpret_cast<const std::byte*>(weights + first * inputs);
                             }};
  return tiled_matrix({&source, 1}, inputs, workers);
}

}  // namespace cogen::kernels
