#include "text/vocabulary.hpp"

namespace cogen::text {

vocabulary::vocabulary(std::vector<std::string> spellings) : spellings_(std::move(spellings)) {
  ids_.reserve(spellings_.size());
  for (std::size_t id = 0; id < spellings_.size(); ++id) {
    if (!spellings_[id].empty()) ids_.try_emplace(spellings_[id], static_cast<token>(id));
  }
}

std::optional<token> vocabulary::find(std::string_view spelling) const {
  auto found = ids_.find(spelling);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace cogen::text
