#include "engine/packed_image.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

std::size_t total_bytes(std::span<const cache::exported_run> runs) {
  std::int64_t bytes = 0;
  for (const auto& run : runs) bytes += run.bytes;
  return static_cast<std::size_t>(bytes);
}

/// As many rows as are read at a time, one at least.
cache::exported_run first_piece(const cache::exported_run& of) {
  const std::int64_t row = of.type ? std::int64_t{of.dims} * cache::bytes_of(*of.type) : 1;
  return {.bytes = std::min(of.bytes, std::max(row, piece_bytes / row * row)), .type = of.type, .dims = of.dims};
}

}  // namespace

packed_image::packed_image(std::vector<cache::exported_run> runs, int source)
    : runs_(std::move(runs)),
      size_(total_bytes(runs_)),
      kept_(static_cast<std::size_t>(cache::packed_image_bytes(runs_)), source) {}

void packed_image::pack(std::span<const std::byte> whole) {
  cache::pack_image(runs_, whole, kept_.bytes());
  kept_.move();
}

void packed_image::read(const std::function<void(std::span<const std::byte>)>& visit) const {
  std::vector<std::byte> fetched;
  auto rest = kept_.bytes();
  if (rest.empty()) {
    fetched.reserve(kept_.size());
    kept_.read([&](std::span<const std::byte> part) { fetched.insert(fetched.end(), part.begin(), part.end()); });
    rest = fetched;
  }
  std::vector<std::byte> unpacked;
  for (auto run : runs_)
    for (; run.bytes > 0; run.bytes -= static_cast<std::int64_t>(unpacked.size())) {
      const auto piece = first_piece(run);
      const auto packed = static_cast<std::size_t>(cache::packed_image_bytes({&piece, 1}));
      unpacked.resize(static_cast<std::size_t>(piece.bytes));
      cache::unpack_image({&piece, 1}, rest.first(packed), unpacked);
      rest = rest.subspan(packed);
      visit(unpacked);
    }
}

}  // namespace cogen::detail
