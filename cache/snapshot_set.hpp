#pragma once

#include "snapshot_bytes.hpp"

#include <cstdint>
#include <map>

namespace cogen::cache {

/// The bytes needed to return to some lengths of one slot.
class snapshot_set {
 public:
  bool has(int length) const { return taken_.contains(length); }
  const snapshot_bytes& get(int length) const { return taken_.at(length); }
  void put(int length, snapshot_bytes bytes) { taken_.insert_or_assign(length, std::move(bytes)); }
  void drop(int length) noexcept { taken_.erase(length); }

  /// Drops those of lengths above `length`.
  void cut(int length) noexcept { taken_.erase(taken_.upper_bound(length), taken_.end()); }
  void clear() noexcept { taken_.clear(); }

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [length, bytes] : taken_) sum += static_cast<std::int64_t>(bytes.size());
    return sum;
  }

 private:
  std::map<int, snapshot_bytes> taken_;
};

}  // namespace cogen::cache
