#include "engine/runner/rank_snapshot.hpp"

#include "engine/runner/message.hpp"

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace cogen::detail {

rank_snapshot::rank_snapshot(std::shared_ptr<const kv_snapshot> own, std::vector<std::vector<std::byte>> remote)
    : own_(std::move(own)), remote_(std::move(remote)) {}

std::size_t rank_snapshot::size() const noexcept {
  auto size = (1 + remote_.size()) * sizeof(std::uint64_t) + own_->size();
  for (const auto& each : remote_) size += each.size();
  return size;
}

snapshot_reader rank_snapshot::read() const {
  const auto sizes = std::make_shared<std::vector<std::uint64_t>>(1, own_->size());
  for (const auto& each : remote_) sizes->push_back(each.size());
  return
      [sizes, own = own_->read(), remote = std::span(remote_), begun = false]() mutable -> std::span<const std::byte> {
        if (!std::exchange(begun, true)) return std::as_bytes(std::span(*sizes));
        if (own)
          if (const auto piece = own(); !piece.empty()) return piece;
        own = nullptr;
        while (!remote.empty() && remote.front().empty()) remote = remote.subspan(1);
        if (remote.empty()) return {};
        const std::span<const std::byte> piece = remote.front();
        remote = remote.subspan(1);
        return piece;
      };
}

std::vector<std::span<const std::byte>> rank_parts(std::span<const std::byte> bytes, int ranks) {
  message_reader table(bytes);
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < ranks; ++rank) sizes.push_back(static_cast<std::size_t>(table.read<std::uint64_t>()));
  auto rest = table.rest();
  std::vector<std::span<const std::byte>> parts;
  for (const auto size : sizes) {
    if (size > rest.size()) throw std::runtime_error("a snapshot is shorter than its ranks' parts");
    parts.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  if (!rest.empty()) throw std::runtime_error("a snapshot is longer than its ranks' parts");
  return parts;
}

}  // namespace cogen::detail
