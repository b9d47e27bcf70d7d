#include "text/replacing.hpp"

namespace cogen::text {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  if (from.empty()) return result.append(text);
  for (auto at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

replacement::replacement(const replace_step& step) : step_(step) {
  if (step.is_regex) regex_.emplace(step.pattern);
}

std::string replacement::operator()(std::string_view text) const {
  if (!regex_) return replaced(text, step_.pattern, step_.content);
  std::string result;
  std::size_t copied = 0;
  for (auto match : regex_->matches(text)) {
    result.append(text, copied, match.begin - copied).append(step_.content);
    copied = match.end;
  }
  return result.append(text, copied);
}

}  // namespace cogen::text
