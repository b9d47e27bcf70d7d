#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace server::http {

/// How many bytes some things may take together. For all threads.
class byte_budget {
 public:
  explicit byte_budget(std::uint64_t limit) noexcept : limit_(limit) {}

  bool take(std::uint64_t bytes) noexcept;  ///< false: there are not so many left, and none is taken
  void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }
  std::uint64_t limit() const noexcept { return limit_; }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> taken_ = 0;
};

/// Bytes of one thing that count against a budget for as long as it lives, except for the first ones: so that large
/// things keep no small one out.
class counted_bytes {
 public:
  static constexpr std::uint64_t uncounted = 64 << 10;

  counted_bytes() = default;  ///< without a budget
  explicit counted_bytes(std::shared_ptr<byte_budget> budget) noexcept : budget_(std::move(budget)) {}
  counted_bytes(counted_bytes&& other) noexcept { *this = std::move(other); }
  counted_bytes& operator=(counted_bytes&& other) noexcept;
  ~counted_bytes() { release(); }

  bool grow_to(std::uint64_t bytes) noexcept;  ///< false: the budget has no room for them

 private:
  void release() noexcept;

  std::shared_ptr<byte_budget> budget_;
  std::uint64_t counted_ = 0;
};

}  // namespace server::http
