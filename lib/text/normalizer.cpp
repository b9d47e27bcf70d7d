#include "text/normalizer.hpp"

#include "text/character_class.hpp"
#include "text/character_filters.hpp"
#include "text/overloaded.hpp"
#include "text/unicode_forms.hpp"

namespace cogen::text {
namespace {

std::string stripped(std::string_view text, strip_step sides) {
  if (sides.left) text = without_leading_space(text);
  if (sides.right) text = without_trailing_space(text);
  return std::string(text);
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

std::string normalizer::operator()(std::string_view text) const {
  std::string result(text);
  for (const auto& step : steps_) {
    result = std::visit(overloaded{[&](unicode_form form) { return in_unicode_form(result, form); },
                                   [&](character_filter filter) { return filtered(result, filter); },
                                   [&](const charsmap& table) { return table(result); },
                                   [&](const replacement& replace) { return replace(result); },
                                   [&](const prepend_step& p) { return result.empty() ? result : p.content + result; },
                                   [&](strip_step sides) { return stripped(result, sides); }},
                        step);
  }
  return result;
}

}  // namespace cogen::text
