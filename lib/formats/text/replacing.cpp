#include "formats/text/replacing.hpp"

#include "formats/text/occurrences.hpp"

namespace cogen::text {
namespace {

std::string with_content(std::string_view text, const std::vector<range>& places, std::string_view content,
                         const text_budget& budget) {
  std::string result;
  std::size_t copied = 0;
  for (auto place : places) {
    result.append(text, copied, place.begin - copied).append(content);
    budget.require(result.size());
    copied = place.end;
  }
  return result.append(text, copied);
}

}  // namespace

std::string replaced(std::string_view text, std::string_view old, std::string_view replacement, text_budget& budget) {
  return with_content(text, occurrences(text, old), replacement, budget);
}

replacement::replacement(const replace_step& step) : step_(step) {
  if (step.is_regex) regex_.emplace(step.pattern);
}

std::string replacement::operator()(std::string_view text, text_budget& budget) const {
  if (!regex_) return replaced(text, step_.pattern, step_.content, budget);
  return with_content(text, regex_->matches(text, budget), step_.content, budget);
}

}  // namespace cogen::text
