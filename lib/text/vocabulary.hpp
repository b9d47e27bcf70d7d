#pragma once

#include "cogen/token.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cogen::text {

/// Spellings by id, and ids by spelling. Immutable.
class vocabulary {
 public:
  /// Of equal spellings the first id counts; empty spellings have none.
  explicit vocabulary(std::vector<std::string> spellings);
  vocabulary(vocabulary&&) = delete;

  std::size_t size() const noexcept { return spellings_.size(); }
  const std::string& spelling(token id) const { return spellings_[static_cast<std::size_t>(id)]; }
  std::optional<token> find(std::string_view spelling) const;

 private:
  std::vector<std::string> spellings_;
  std::unordered_map<std::string_view, token> ids_;
};

}  // namespace cogen::text
