#pragma once

#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

#include <optional>
#include <string>

namespace cogen::text::jinja {

// Walks through values. What is in a value twice is visited twice, and each visit is accounted for.

/// As Python's == has it.
bool equal(renderer& run, const value& left, const value& right);

/// Below, at or above 0 as left is before, equal to or after right. Fails for values that Python does not order.
int order(renderer& run, const value& left, const value& right);

/// Whether no text inside came from outside of the template.
bool is_trusted(renderer& run, const value& object);

/// Equal for keys of dictionaries that Python holds to be equal: texts, numbers, none, undefined and tuples of such.
/// Nothing for another value.
std::optional<std::string> key_of(renderer& run, const value& object);

/// The member under a key; nullptr where there is none.
const value* find(renderer& run, const dictionary& members, const value& key);

/// See dictionary::insert. Fails for a value that cannot be a key.
void insert(renderer& run, dictionary& members, value key, value member);

/// Fails for a value that cannot be the key of a dictionary. Returns how it is spelled.
std::string required_key(renderer& run, const value& key);

}  // namespace cogen::text::jinja
