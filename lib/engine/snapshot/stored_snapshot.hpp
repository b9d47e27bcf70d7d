#pragma once

#include "engine/snapshot/cache_slots.hpp"
#include "engine/snapshot/swap_file.hpp"

#include <cogen/extend/runner.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::detail {

/// A snapshot of one slot, in memory until it is moved to a file.
class stored_snapshot final : public kv_snapshot {
 public:
  /// `size` bytes, which may be filled in later.
  stored_snapshot(host_bytes bytes, std::size_t size, int encoder_input);

  stored_snapshot(const stored_snapshot&) = delete;
  stored_snapshot& operator=(const stored_snapshot&) = delete;
  ~stored_snapshot() override;

  std::size_t size() const noexcept override { return size_; }
  int encoder_input() const noexcept override { return encoder_input_; }
  snapshot_reader read() const override;

  /// The bytes; empty once they are in the file.
  std::span<std::byte> bytes() noexcept { return {bytes_.get(), bytes_ ? size_ : 0}; }
  std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), bytes_ ? size_ : 0}; }

  /// Adds its size to `sum` until this object is destroyed.
  void count_in(std::shared_ptr<std::atomic<std::int64_t>> sum);

  /// Reserves the range of the file to which move() moves the bytes. The destructor gives the range back.
  void reserve(std::shared_ptr<swap_file> file, std::int64_t begin) noexcept;

  /// Moves the bytes to the reserved range, if there is one. Throws what swap_file::write() does.
  void move();

 private:
  class file_reader;

  std::size_t size_;
  int encoder_input_;
  host_bytes bytes_;            // null: they are in the file
  std::uint64_t checksum_ = 0;  // of the bytes in the file
  std::shared_ptr<swap_file> file_;
  std::int64_t begin_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> counted_in_;
};

}  // namespace cogen::detail
