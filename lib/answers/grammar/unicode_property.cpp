#include "answers/grammar/unicode_property.hpp"

#include "formats/text/character_class.hpp"

#include <map>
#include <string>
#include <vector>

namespace cogen::grammar {
namespace {

struct category_run {
  character_set::range characters;
  std::string_view category;  ///< its short name
};

const std::vector<category_run>& runs() {
  static const auto table = [] {
    std::vector<category_run> found;
    for (char32_t character = 0; character <= 0x10FFFF; ++character) {
      const auto category = text::category_name(character);
      if (found.empty() || found.back().category != category) {
        found.push_back({{character, character}, category});
      } else {
        found.back().characters.last = character;
      }
    }
    return found;
  }();
  return table;
}

/// Short names by long ones. A category of one letter is all that begin with it.
const std::map<std::string_view, std::string_view> long_names = {
    {"Letter", "L"},
    {"Cased_Letter", "LC"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

bool is_in(std::string_view category, std::string_view wanted) {
  if (wanted == "LC") return category == "Lu" || category == "Ll" || category == "Lt";
  return category.starts_with(wanted);
}

std::optional<character_set> characters_of_category(std::string_view name) {
  const auto known = long_names.find(name);
  const auto wanted = known == long_names.end() ? name : known->second;
  character_set set;
  if (wanted.empty()) return std::nullopt;
  for (const auto& each : runs())
    if (is_in(each.category, wanted)) set.add(each.characters);
  if (set.empty()) return std::nullopt;
  return set;
}

}  // namespace

std::optional<character_set> characters_with(std::string_view property) {
  if (property == "Any") return character_set::full();
  if (property == "ASCII") return character_set{{0, 0x7F}};
  if (property == "ASCII_Hex_Digit" || property == "AHex") return character_set{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  if (property == "Assigned") return characters_of_category("Cn")->complement();
  for (const std::string_view key : {"General_Category=", "gc="})
    if (property.starts_with(key)) property.remove_prefix(key.size());
  return characters_of_category(property);
}

}  // namespace cogen::grammar
