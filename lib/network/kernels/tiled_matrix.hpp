#pragma once

#include "network/kernels/weight_arena.hpp"
#include "network/kernels/weight_storage.hpp"
#include "network/kernels/worker_pool.hpp"

#include <cogen/detail/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cogen::kernels {

/// Bytes of one row of `inputs` weights. Throws std::invalid_argument if the format's block does not divide `inputs`.
std::int64_t row_bytes(element_type format, std::int64_t inputs);

/// One matrix [rows, inputs], stored row by row, a source of a tiled matrix.
struct weight_source {
  element_type format = element_type::f32;
  std::int64_t rows = 0;
  /// Gives rows [first, last), one after the other, as stored: either a pointer to memory that holds them already, or
  /// `scratch` (of that many bytes, aligned to 64) filled with them. Called from several threads at once.
  std::function<const std::byte*(std::int64_t first, std::int64_t last, std::byte* scratch)> read;
  /// Of nvfp4 only: multiplies the scales of all weights.
  float factor = 1;
};

/// Weights [outputs, inputs] in the order in which `linear` reads them; immutable, quantized weights stay quantized.
///
/// Stored in tiles of 64 outputs, zero-padded, in which weights of 64 outputs lie side by side for each input (each
/// pair, four or eight of inputs, by format). The order is the same for all instruction sets. Several sources lie one
/// after the other along the outputs (q|k|v, gate|up), each with its own format and its own tiles. Any thread may read.
class tiled_matrix {
 public:
  /// Tile of outputs [first, first + columns); columns <= 64.
  struct tile {
    const std::byte* data;
    std::int64_t first;
    std::int32_t columns;
    weight_storage storage;
  };

  /// An empty matrix [0, 0].
  tiled_matrix() = default;

  /// Tiles [sum of rows, inputs], reading each source once, in parallel, with no copy beside a scratch of 64 rows a
  /// thread. Throws std::invalid_argument for shapes no kernel takes (no rows, no inputs, inputs not a multiple of a
  /// quantized format's block), std::bad_alloc, and what `read` throws.
  tiled_matrix(std::span<const weight_source> sources, std::int64_t inputs, worker_pool& workers,
               weight_arena* arena = nullptr);
  tiled_matrix(tiled_matrix&&) noexcept = default;
  tiled_matrix& operator=(tiled_matrix&&) noexcept = default;

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }
  bool empty() const { return outputs_ == 0; }

  /// Memory held, padding included.
  std::size_t bytes() const { return bytes_; }

  /// Writes the weights of one output, dequantized exactly, to out [inputs]. The output must be below outputs().
  void row(std::int64_t output, float* out) const;

  std::span<const tile> tiles() const { return tiles_; }

  /// Whether some of the tiles are kept like this, or in any way whose values are integers.
  bool holds(weight_storage storage) const { return (storages_ & 1U << static_cast<unsigned>(storage)) != 0; }
  bool holds_integers() const {
    constexpr unsigned first = 1U << static_cast<unsigned>(weight_storage::q4);
    constexpr unsigned numbers = 1U << static_cast<unsigned>(weight_storage::e4m3);
    return (storages_ & ~numbers) >= first;
  }

 private:
  std::shared_ptr<std::byte[]> data_;
  std::vector<tile> tiles_;
  std::int64_t outputs_ = 0;
  std::int64_t inputs_ = 0;
  std::size_t bytes_ = 0;
  unsigned storages_ = 0;  // a bit for each
};

/// One matrix of float32 weights [outputs, inputs] in memory, tiled; for tests and small models.
tiled_matrix pack(const float* weights, std::int64_t outputs, std::int64_t inputs, worker_pool& workers);

}  // namespace cogen::kernels
