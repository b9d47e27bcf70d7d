#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cogen::text {

/// Strings that share their beginnings. Node 0 is the empty string.
class byte_trie {
 public:
  using node = std::uint32_t;
  static constexpr node root = 0;

  struct match {
    std::size_t length;
    std::size_t value;
  };

  /// A string inserted again keeps its first value.
  void insert(std::string_view string, std::size_t value);

  bool empty() const noexcept { return children_.empty(); }
  std::size_t size() const noexcept { return values_.size(); }

  std::optional<node> child(node from, unsigned char byte) const;
  std::optional<std::size_t> value(node at) const { return values_[at]; }

  /// The longest string that the text begins with.
  std::optional<match> longest_prefix(std::string_view text) const;

 private:
  static std::uint64_t edge(node from, unsigned char byte) { return std::uint64_t{from} << 8 | byte; }

  std::unordered_map<std::uint64_t, node> children_;
  std::vector<std::optional<std::size_t>> values_{std::nullopt};
};

}  // namespace cogen::text
