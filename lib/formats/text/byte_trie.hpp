#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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

  bool empty() const noexcept { return values_.size() == 1; }
  std::size_t size() const noexcept { return values_.size(); }

  std::optional<node> child(node parent, unsigned char byte) const noexcept;
  std::optional<std::size_t> value(node index) const noexcept;

  /// The node of a string that some inserted string begins with.
  std::optional<node> find(std::string_view string) const noexcept;

  /// The longest string that the text begins with, or continues with from a node. `visited` grows by the nodes on the
  /// way.
  std::optional<match> longest_prefix(std::string_view text, node start, std::size_t& visited) const noexcept;
  std::optional<match> longest_prefix(std::string_view text, node start = root) const noexcept;

 private:
  struct edge {
    std::uint64_t key;
    node child;
  };
  std::size_t place_of(std::uint64_t key) const noexcept;
  node child_or_new(node parent, unsigned char byte);
  void grow();

  std::vector<edge> edges_;  // by hash, the next free place being taken (Knuth volume 3, section 6.4)
  std::vector<std::size_t> values_{no_value};
  static constexpr auto no_value = ~std::size_t{0};
};

}  // namespace cogen::text
