#include "runner/rank_snapshot.hpp"

#include "runner/message.hpp"

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace cogen::detail {

rank_snapshot::rank_snapshot(std::shared_ptr<const kv_snapshot> own, std::vector<std::vector<std::byte>> others)
    : own_(std::move(own)), others_(std::move(others)) {}

std::size_t rank_snapshot::size() const noexcept {
  auto size = (1 + others_.size()) * sizeof(std::uint64_t) + own_->size();
  for (const auto& each : others_) size += each.size();
  return size;
}

void rank_snapshot::read(const std::function<void(std::span<const std::byte>)>& visit) const {
  std::vector<std::uint64_t> sizes{own_->size()};
  for (const auto& each : others_) sizes.push_back(each.size());
  visit(std::as_bytes(std::span(sizes)));
  own_->read(visit);
  for (const auto& each : others_) visit(each);
}

std::vector<std::span<const std::byte>> rank_parts(std::span<const std::byte> all, int ranks) {
  message_reader table(all);
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
