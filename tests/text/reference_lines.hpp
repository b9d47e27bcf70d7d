#pragma once

#include <cogen/text/tokenizer.hpp>

#include <boost/json/value.hpp>

#include <filesystem>
#include <string>
#include <vector>

/// What a reference implementation makes of one text.
struct reference_line {
  std::string text;
  std::vector<cogen::token> ids;
  std::optional<std::string> decoded;
  cogen::text::encode_options options{.add_special = false, .parse_special = true};
};

/// Reads lines {"text": ..., "ids": [...]}, perhaps with "decoded", "add_special" and "parse_special".
/// Throws std::runtime_error for a file that cannot be read, and what Boost.JSON throws for a malformed line.
std::vector<reference_line> read_reference_lines(const std::filesystem::path& path);

/// The first difference between the tokenizer and the reference, in words; empty if there is none.
/// Checks encoding, decoding, and that the pieces of the incremental detokenizer join to the decoded text.
std::string difference(const cogen::text::tokenizer& tokens, const reference_line& expected);
