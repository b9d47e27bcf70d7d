#pragma once

#include "answers/grammar/compiled_grammar.hpp"
#include "answers/grammar/distinct_rule.hpp"

#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cogen::grammar {

/// What turns a checked grammar into masks of tokens.
class backend {
 public:
  virtual ~backend() = default;

  /// Of a grammar in EBNF whose first rule is `root`, and of what its brackets are captured for. Called from any
  /// thread. Throws grammar_error.
  virtual std::shared_ptr<compiled_grammar> compile(const std::string& ebnf, std::vector<distinct_rule> distinct) = 0;

  /// One for the same vocabulary that knows nothing of what this one has compiled. It may keep so many bytes of what
  /// grammars have in common.
  virtual std::unique_ptr<backend> separate(std::size_t bytes) const = 0;
};

/// XGrammar, or, in a build without it, what refuses every grammar. It keeps nothing of them.
std::unique_ptr<backend> make_backend(std::shared_ptr<const text::tokenizer> tokens);

/// Whether this build has a backend that compiles grammars.
bool has_backend() noexcept;

}  // namespace cogen::grammar
