#include "answers/response/control_tokens.hpp"

#include <algorithm>

namespace cogen::response {
namespace {

bool holds(const delimiter& parts, std::string_view text) {
  return std::ranges::any_of(parts,
                             [&](const delimiter_part& part) { return part.text.find(text) != std::string::npos; });
}

}  // namespace

std::map<std::string, token, std::less<>> control_tokens_of(const response_syntax& syntax,
                                                            const text::tokenizer& tokens) {
  const auto delimiters = delimiters_of(syntax);
  std::map<std::string, token, std::less<>> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<token>(i);
    if (!tokens.is_special(id)) continue;
    const auto text = tokens.token_text(id);
    if (!text.empty() &&
        std::ranges::any_of(delimiters, [&](const delimiter* candidate) { return holds(*candidate, text); }))
      found.emplace(text, id);
  }
  return found;
}

}  // namespace cogen::response
