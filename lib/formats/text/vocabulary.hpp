#pragma once

#include "formats/json/string_list.hpp"

#include <cogen/token.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// Stands where there is none.
inline constexpr token no_token = -1;

/// Ids by spelling. Immutable.
class vocabulary {
 public:
  /// Of equal spellings the first id counts; empty spellings have none.
  explicit vocabulary(std::span<const std::string> spellings);

  std::size_t size() const noexcept { return spellings_.size(); }
  std::optional<token> find(std::string_view spelling) const;

 private:
  std::size_t place_of(std::string_view spelling) const noexcept;

  json::string_list spellings_;
  std::vector<token> ids_;  // by hash, the next free place being taken (Knuth volume 3, section 6.4)
};

}  // namespace cogen::text
