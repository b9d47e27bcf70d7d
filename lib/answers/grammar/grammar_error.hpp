#pragma once

#include <cogen/response_format.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::grammar {

/// Why a format is refused: one message that names the keyword, its place, and the limit if there is one.
class grammar_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A keyword of a schema that no grammar of ours keeps.
class keyword_error : public grammar_error {
 public:
  keyword_error(const std::string& message, loosened_keyword refused)
      : grammar_error(message), keyword(std::move(refused)) {}

  loosened_keyword keyword;
};

/// A schema that is too large as a whole.
class schema_size_error : public grammar_error {
 public:
  using grammar_error::grammar_error;
};

}  // namespace cogen::grammar
