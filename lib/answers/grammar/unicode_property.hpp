#pragma once

#include "answers/grammar/character_set.hpp"

#include <optional>
#include <string_view>

namespace cogen::grammar {

/// The characters of a property as `\p{...}` names it: a general category, Any, Assigned, ASCII or ASCII_Hex_Digit;
/// none for another one.
std::optional<character_set> characters_with(std::string_view property);

}  // namespace cogen::grammar
