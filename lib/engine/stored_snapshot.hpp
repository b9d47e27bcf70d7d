#pragma once

#include "engine/swap_file.hpp"

#include <cogen/extend/runner.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::detail {

/// The bytes of one slot, in memory until they are moved to a file.
class stored_snapshot final : public kv_snapshot {
 public:
  /// Of bytes that are still to be filled in.
  stored_snapshot(std::size_t size, int encoder_input);

  /// Of these bytes.
  stored_snapshot(std::span<const std::byte> bytes, int encoder_input);

  ~stored_snapshot() override;

  std::size_t size() const noexcept override { return size_; }
  int encoder_input() const noexcept override { return encoder_input_; }
  void read(const std::function<void(std::span<const std::byte>)>& visit) const override;

  /// The bytes, while they are in memory.
  std::span<std::byte> bytes() noexcept { return {bytes_.get(), bytes_ ? size_ : 0}; }
  std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), bytes_ ? size_ : 0}; }

  /// While they are in memory, and as long as it lives, its size is in `sum`.
  void count_in(std::shared_ptr<std::atomic<std::int64_t>> sum);

  /// move() will take them to this range, which is given back with the snapshot.
  void reserve(std::shared_ptr<swap_file> file, std::int64_t begin) noexcept;

  /// To the range that was reserved, if there is one. Throws what swap_file::write() does.
  void move();

 private:
  std::size_t size_;
  int encoder_input_;
  std::unique_ptr<std::byte[]> bytes_;  // null: they are in the file
  std::uint64_t checksum_ = 0;          // of those in the file
  std::shared_ptr<swap_file> file_;
  std::int64_t begin_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> counted_in_;
};

}  // namespace cogen::detail
