#include "engine/snapshot/compressed_snapshot.hpp"

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
cache::exported_run first_piece(const cache::exported_run& run) {
  const std::int64_t row = run.type ? std::int64_t{run.dims} * cache::bytes_of(*run.type) : 1;
  return {.bytes = std::min(run.bytes, std::max(row, piece_bytes / row * row)), .type = run.type, .dims = run.dims};
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

/// Decompresses the bytes piece by piece.
class compressed_snapshot::decompressor {
 public:
  explicit decompressor(const compressed_snapshot& snapshot) : runs_(snapshot.runs_), rest_(snapshot.kept_.bytes()) {
    if (!rest_.empty()) return;
    fetched_.reserve(snapshot.kept_.size());
    const auto read = snapshot.kept_.read();
    for (auto part = read(); !part.empty(); part = read()) fetched_.insert(fetched_.end(), part.begin(), part.end());
    rest_ = fetched_;
  }

  std::span<const std::byte> next() {
    while (index_ < runs_.size() && runs_[index_].bytes == 0) ++index_;
    if (index_ == runs_.size()) return {};
    const auto piece = first_piece(runs_[index_]);
    const auto compressed = static_cast<std::size_t>(cache::compressed_bytes({&piece, 1}));
    decompressed_.resize(static_cast<std::size_t>(piece.bytes));
    cache::decompress({&piece, 1}, rest_.first(compressed), decompressed_);
    rest_ = rest_.subspan(compressed);
    runs_[index_].bytes -= piece.bytes;
    return decompressed_;
  }

 private:
  std::vector<cache::exported_run> runs_;  // what is left of them
  std::size_t index_ = 0;
  std::span<const std::byte> rest_;
  std::vector<std::byte> fetched_, decompressed_;
};

snapshot_reader compressed_snapshot::read() const {
  return [reader = std::make_shared<decompressor>(*this)] { return reader->next(); };
}

}  // namespace cogen::detail
