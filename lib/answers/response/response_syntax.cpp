#include "answers/response/response_syntax.hpp"

namespace cogen::response {

std::vector<const delimiter*> delimiters_of(const response_syntax& syntax) {
  std::vector<const delimiter*> delimiters;
  if (syntax.reasoning) delimiters.insert(delimiters.end(), {&syntax.reasoning->open, &syntax.reasoning->close});
  if (const auto& calls = syntax.calls) {
    for (const auto& open : calls->open) delimiters.push_back(&open);
    delimiters.insert(delimiters.end(), {&calls->close, &calls->section_open, &calls->section_close,
                                         &calls->parameter.open, &calls->parameter.close});
  }
  for (const auto& marker : syntax.around_text) delimiters.push_back(&marker);
  return delimiters;
}

bool ends_in_reasoning(const response_syntax& syntax, std::string_view ending) {
  if (!syntax.reasoning) return false;
  const auto open = ending.rfind(syntax.reasoning->open.front().text);
  const auto close = ending.rfind(syntax.reasoning->close.front().text);
  return open != std::string_view::npos && (close == std::string_view::npos || close < open);
}

}  // namespace cogen::response
