#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

struct XXH64_state_s;

namespace cogen::load {

/// XXH64 with seed 0 of bytes that come in pieces. It finds damage, not forgery.
class checksum {
 public:
  /// Throws std::bad_alloc.
  checksum();

  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }

  /// Of all bytes so far.
  std::uint64_t value() const noexcept;

 private:
  struct deleter {
    void operator()(XXH64_state_s* state) const noexcept;
  };

  std::unique_ptr<XXH64_state_s, deleter> state_;
};

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept;

}  // namespace cogen::load
