#pragma once

#include "formats/json/field.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <optional>
#include <string_view>

namespace cogen::text {

/// Reads the section `model` of a tokenizer.json; the added tokens must have been read. Throws std::invalid_argument
/// naming what is malformed or unknown.
void read_model(const json::field& model, tokenizer_spec& spec);

/// The id of a token by its content or spelling; an added token comes first.
std::optional<token> find_token(const tokenizer_spec& spec, std::string_view content);

}  // namespace cogen::text
