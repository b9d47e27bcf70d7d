#include "formats/checkpoint/header_cursor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cogen::load {

static_assert(std::endian::native == std::endian::little, "model files are read as they stand");

std::uint64_t header_cursor::count(std::string_view name, std::uint64_t smallest, std::uint64_t limit) {
  const auto value = number<std::uint64_t>(name);
  if (value > limit) refuse("{} is {}; at most {} are read", name, value, limit);
  if (value > remaining() / smallest) {
    refuse("{} is {}, which needs at least {} bytes each; {} bytes remain in the file", name, value, smallest,
           remaining());
  }
  return value;
}

std::string header_cursor::text(std::string_view name, std::uint64_t limit) {
  const auto length = number<std::uint64_t>(name);
  if (length > limit) refuse("{} has {} bytes; at most {} are read", name, length, limit);
  if (length > remaining()) refuse("{} has {} bytes; {} bytes remain in the file", name, length, remaining());
  std::string value(static_cast<std::size_t>(length), '\0');
  bytes(std::as_writable_bytes(std::span(value)), name);
  return value;
}

void header_cursor::bytes(std::span<std::byte> out, std::string_view name) {
  if (out.size() > remaining()) {
    refuse("the file ends within {}: it needs {} bytes at byte {}, {} are left", name, out.size(), position_,
           remaining());
  }
  while (!out.empty()) {
    if (ahead_.empty()) fill_buffer();
    const auto taken = std::min(out.size(), ahead_.size());
    std::memcpy(out.data(), ahead_.data(), taken);
    ahead_ = ahead_.subspan(taken);
    out = out.subspan(taken);
    position_ += taken;
  }
}

void header_cursor::fill_buffer() {
  const auto size = std::min<std::uint64_t>(buffer_.size(), remaining());
  const auto fresh = std::span(buffer_).first(static_cast<std::size_t>(size));
  file_.read(position_, fresh);
  ahead_ = fresh;
}

}  // namespace cogen::load
