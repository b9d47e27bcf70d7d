#include "text/normalizer.hpp"

#include "text/character_class.hpp"
#include "text/unicode_forms.hpp"

namespace cogen::text {
namespace {

template <typename... F>
struct overloaded : F... {
  using F::operator()...;
};
template <typename... F>
overloaded(F...) -> overloaded<F...>;

std::string replaced(std::string_view text, const pattern& what, std::string_view content) {
  std::string result;
  std::size_t copied = 0;
  for (auto match : what.matches(text)) {
    result.append(text, copied, match.begin - copied).append(content);
    copied = match.end;
  }
  return result.append(text, copied);
}

std::string stripped(std::string_view text, strip_step sides) {
  if (sides.left) text = without_leading_space(text);
  if (sides.right) text = without_trailing_space(text);
  return std::string(text);
}

}  // namespace

normalizer::normalizer(const std::vector<normalizer_step>& steps) {
  for (const auto& given : steps) {
    if (auto* replace = std::get_if<replace_step>(&given)) {
      steps_.emplace_back(replacement{pattern(replace->is_regex ? replace->pattern : escaped_pattern(replace->pattern)),
                                      replace->content});
    } else if (auto* form = std::get_if<unicode_form>(&given)) {
      steps_.emplace_back(*form);
    } else if (auto* prepend = std::get_if<prepend_step>(&given)) {
      steps_.emplace_back(*prepend);
    } else {
      steps_.emplace_back(std::get<strip_step>(given));
    }
  }
}

std::string normalizer::operator()(std::string_view text) const {
  std::string result(text);
  for (const auto& step : steps_) {
    result = std::visit(overloaded{[&](unicode_form form) { return in_unicode_form(result, form); },
                                   [&](const replacement& r) { return replaced(result, r.what, r.content); },
                                   [&](const prepend_step& p) { return result.empty() ? result : p.content + result; },
                                   [&](strip_step sides) { return stripped(result, sides); }},
                        step);
  }
  return result;
}

}  // namespace cogen::text
