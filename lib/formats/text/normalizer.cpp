#include "formats/text/normalizer.hpp"

#include "formats/text/character_class.hpp"
#include "formats/text/character_filters.hpp"
#include "formats/text/overloaded.hpp"
#include "formats/text/unicode_forms.hpp"

namespace cogen::text {
namespace {

std::string stripped(std::string_view text, strip_step sides) {
  if (sides.left) text = without_leading_space(text);
  if (sides.right) text = without_trailing_space(text);
  return std::string(text);
}

std::string prepended(std::string_view begin, std::string_view text, const text_budget& budget) {
  if (text.empty()) return {};
  budget.require(begin.size() + text.size());
  return std::string(begin).append(text);
}

}  // namespace

normalizer::normalizer(const std::vector<normalizer_step>& steps) {
  for (const auto& given : steps) {
    std::visit(overloaded{[&](const replace_step& replace) { steps_.emplace_back(replacement(replace)); },
                          [&](const charsmap_step& table) { steps_.emplace_back(charsmap(table)); },
                          [&](const auto& kept) { steps_.emplace_back(kept); }},
               given);
  }
}

std::string normalizer::operator()(std::string_view text, text_budget& budget) const {
  std::string result(text);
  for (const auto& step : steps_) {
    budget.spend(result.size());
    result = std::visit(overloaded{[&](unicode_form form) { return in_unicode_form(result, form); },
                                   [&](character_filter filter) { return filtered(result, filter); },
                                   [&](const charsmap& table) { return table(result, budget); },
                                   [&](const replacement& replace) { return replace(result, budget); },
                                   [&](const prepend_step& p) { return prepended(p.content, result, budget); },
                                   [&](strip_step sides) { return stripped(result, sides); }},
                        step);
    budget.require(result.size());
  }
  return result;
}

}  // namespace cogen::text
