#pragma once

#include <cogen/guide.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen {

namespace grammar {
class compiled_grammar;
}

namespace text {
class tokenizer;
}

/// What a generated text has to look like.
struct response_format {
  enum class kind : std::uint8_t { json_object, json_schema, regex, grammar, choice };

  kind type = kind::json_object;
  std::string text = {};                  ///< of a schema, a regular expression or a grammar
  std::vector<std::string> choices = {};  ///< of a choice
  bool strict = true;  ///< false: keywords of a schema that cannot be kept are loosened, instead of refused

  friend bool operator==(const response_format&, const response_format&) = default;
};

/// Any JSON object.
inline response_format json_object() { return {}; }

/// A JSON value that is valid by a JSON Schema (draft 2020-12), its properties in the order of the schema.
inline response_format json_schema(std::string schema, bool strict = true) {
  return {.type = response_format::kind::json_schema, .text = std::move(schema), .strict = strict};
}

/// A text that an ECMAScript regular expression matches from beginning to end.
inline response_format regex(std::string pattern) {
  return {.type = response_format::kind::regex, .text = std::move(pattern)};
}

/// A text of the rule `root` of a grammar in EBNF, in the notation of llama.cpp's GBNF.
inline response_format ebnf(std::string rules) {
  return {.type = response_format::kind::grammar, .text = std::move(rules)};
}

/// One of these texts.
inline response_format choice(std::vector<std::string> texts) {
  return {.type = response_format::kind::choice, .choices = std::move(texts)};
}

/// A keyword of a JSON schema that texts are not held to.
struct loosened_keyword {
  std::string name;
  std::string path;  ///< of the schema that has it, as a JSON pointer: "#/properties/a"

  friend bool operator==(const loosened_keyword&, const loosened_keyword&) = default;
};

/// A response format that engine::async_compile() has compiled for a model's tokenizer, for any number of requests and
/// sequences of engines with that model. Cheap to copy; thread-safe. It keeps the tokenizer alive.
class compiled_format {
 public:
  compiled_format() = default;
  /// Of what the compiler has made.
  explicit compiled_format(std::shared_ptr<const grammar::compiled_grammar> compiled) noexcept
      : grammar_(std::move(compiled)) {}

  explicit operator bool() const noexcept { return grammar_ != nullptr; }  ///< false if default-constructed

  // Of one that is not default-constructed.
  std::unique_ptr<guide> start() const;            ///< a guide at the beginning of the text
  std::size_t bytes() const noexcept;              ///< that it takes
  const text::tokenizer& tokens() const noexcept;  ///< that it was compiled for
  /// The keywords of the schema that texts are not held to, as long as this lives.
  std::span<const loosened_keyword> loosened() const noexcept;

 private:
  std::shared_ptr<const grammar::compiled_grammar> grammar_;
};

/// What constrains a generation: a format, which is compiled for it; a compiled one; or a guide of your own at the
/// beginning of the text, of which each stream takes a clone.
using response_constraint = std::variant<response_format, compiled_format, std::shared_ptr<const guide>>;

/// What a response format may take to compile.
struct compile_limits {
  std::size_t text_bytes = 1 << 20;        ///< of a schema, a pattern, a grammar, or all choices together
  std::size_t states = 200'000;            ///< of the grammar, repetitions written out
  std::size_t schemas = 20'000;            ///< that a JSON schema expands to
  std::size_t bytes = 256 << 20;           ///< of the compiled grammar
  std::chrono::milliseconds time{10'000};  ///< of a processor
};

/// How response formats are compiled.
struct structured_output_options {
  compile_limits limits = {};
  std::size_t cache_bytes = 256 << 20;  ///< of compiled formats, the least recently used of which leave first
};

}  // namespace cogen
