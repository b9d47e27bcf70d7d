#include "snapshot/compressed_snapshot.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

stored_snapshot made_for(std::span<const cache::exported_run> runs, int encoder_input) {
  const auto size = static_cast<std::size_t>(cache::compressed_bytes(runs));
  return {std::make_shared_for_overwrite<std::byte[]>(size), size, encoder_input};
}

/// The part of a run that is read at a time: as many rows as fit in 1 MiB, at least one.
cache::exported_run first_piece(const cache::exported_run& of) {
  const std::int64_t row = of.type ? std::int64_t{of.dims} * cache::bytes_of(*of.type) : 1;
  return {.bytes = std::min(of.bytes, std::max(row, piece_bytes / row * row)), .type = of.type, .dims = of.dims};
}

}  // namespace

std::size_t total_bytes(std::span<const cache::exported_run> runs) {
  std::int64_t bytes = 0;
  for (const auto& run : runs) bytes += run.bytes;
  return static_cast<std::size_t>(bytes);
}

compressed_snapshot::compressed_snapshot(std::vector<cache::exported_run> runs, int encoder_input)
    : runs_(std::move(runs)), size_(total_bytes(runs_)), kept_(made_for(runs_, encoder_input)) {}

void compressed_snapshot::pack(std::span<const std::byte> whole) {
  cache::compress(runs_, whole, kept_.bytes());
  kept_.move();
}

void compressed_snapshot::read(const std::function<void(std::span<const std::byte>)>& visit) const {
  std::vector<std::byte> fetched;
  auto rest = kept_.bytes();
  if (rest.empty()) {
    fetched.reserve(kept_.size());
    kept_.read([&](std::span<const std::byte> part) { fetched.insert(fetched.end(), part.begin(), part.end()); });
    rest = fetched;
  }
  std::vector<std::byte> decompressed;
  for (auto run : runs_)
    for (; run.bytes > 0; run.bytes -= static_cast<std::int64_t>(decompressed.size())) {
      const auto piece = first_piece(run);
      const auto compressed = static_cast<std::size_t>(cache::compressed_bytes({&piece, 1}));
      decompressed.resize(static_cast<std::size_t>(piece.bytes));
      cache::decompress({&piece, 1}, rest.first(compressed), decompressed);
      rest = rest.subspan(compressed);
      visit(decompressed);
    }
}

}  // namespace cogen::detail
