#include "answers/response/response_syntax.hpp"

namespace cogen::response {

std::vector<const delimiter*> delimiters_of(const response_syntax& syntax) {
  std::vector<const delimiter*> all;
  if (syntax.reasoning) all.insert(all.end(), {&syntax.reasoning->open, &syntax.reasoning->close});
  if (const auto& calls = syntax.calls) {
    for (const auto& open : calls->open) all.push_back(&open);
    all.insert(all.end(), {&calls->close, &calls->section_open, &calls->section_close, &calls->parameter.open,
                           &calls->parameter.close});
  }
  for (const auto& each : syntax.around_text) all.push_back(&each);
  return all;
}

bool ends_in_reasoning(const response_syntax& syntax, std::string_view ending) {
  if (!syntax.reasoning) return false;
  const auto open = ending.rfind(syntax.reasoning->open.front().text);
  const auto close = ending.rfind(syntax.reasoning->close.front().text);
  return open != std::string_view::npos && (close == std::string_view::npos || close < open);
}

}  // namespace cogen::response
