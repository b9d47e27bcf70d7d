#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::load {

/// Finds the position of a name in a list by binary search: no hash, so no list of names makes it slow.
/// The views must stay valid as long as the index.
class name_index {
 public:
  name_index() = default;
  explicit name_index(std::vector<std::string_view> names);

  std::optional<std::size_t> find(std::string_view name) const noexcept;

  /// A name that is there more than once.
  std::optional<std::string_view> duplicate() const noexcept;

 private:
  std::vector<std::string_view> names_;  // sorted
  std::vector<std::size_t> positions_;   // where names_[i] stood
};

}  // namespace cogen::load
