#include "answers/grammar/token_table.hpp"

#include <unordered_map>

namespace cogen::grammar {

token_table::token_table(const text::tokenizer& tokens) : marks_(tokens.size()), first_bytes_(tokens.size()) {
  std::unordered_map<std::string_view, std::int32_t> tails;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const auto id = static_cast<token>(i);
    if (tokens.is_special(id)) continue;
    const auto bytes = tokens.token_bytes(id);
    if (bytes.empty()) continue;
    first_bytes_[i] = static_cast<unsigned char>(bytes.front());
    if (bytes.find_first_of("\",]} \t\r\n") != std::string_view::npos) marks_[i] = mark;
    const auto end = bytes.find('"');
    if (end == std::string_view::npos) continue;
    marks_[i] |= quote;
    const bool is_plain = bytes.substr(0, end).find('\\') == std::string_view::npos;
    quoting_.push_back(
        {id, is_plain ? tails.try_emplace(bytes.substr(end + 1), static_cast<std::int32_t>(tails.size())).first->second
                      : no_tail});
  }
  tails_ = tails.size();
}

}  // namespace cogen::grammar
