#pragma once

#include "engine/snapshot/stored_snapshot.hpp"

#include <cogen/detail/cache/snapshot_codec.hpp>

#include <vector>

namespace cogen::detail {

/// The bytes of all runs together.
std::size_t total_bytes(std::span<const cache::exported_run> runs);

/// A snapshot of one slot, stored with 8 bits for each number. read() gives the decompressed bytes.
class compressed_snapshot final : public kv_snapshot {
 public:
  /// For bytes laid out as `runs`, which pack() compresses later.
  compressed_snapshot(std::vector<cache::exported_run> runs, int encoder_input);

  std::size_t size() const noexcept override { return size_; }
  int encoder_input() const noexcept override { return kept_.encoder_input(); }
  snapshot_reader read() const override;

  /// The compressed bytes.
  stored_snapshot& kept() noexcept { return kept_; }

  /// Compresses the bytes, and moves the result to the file if a range is reserved. Throws what stored_snapshot::move()
  /// does.
  void pack(std::span<const std::byte> whole);

 private:
  class decompressor;

  const std::vector<cache::exported_run> runs_;
  const std::size_t size_;
  stored_snapshot kept_;
};

}  // namespace cogen::detail
