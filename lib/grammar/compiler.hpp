#pragma once

#include "cogen/text/tokenizer.hpp"
#include "grammar/backend.hpp"
#include "grammar/compiled_grammar.hpp"
#include "grammar/response_format.hpp"

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace cogen::grammar {

/// What a format may take to compile.
struct compile_limits {
  std::size_t text_bytes = 1 << 20;        ///< of a schema, a pattern, a grammar, or all choices together
  std::size_t states = 200'000;            ///< of the grammar, repetitions written out
  std::size_t schemas = 20'000;            ///< that a JSON schema expands to
  std::size_t bytes = 256 << 20;           ///< of the compiled grammar
  std::chrono::milliseconds time{10'000};  ///< of a processor; it is checked at the end, and interrupts nothing
};

struct compiler_options {
  compile_limits limits = {};
  std::size_t cache_bytes = 256 << 20;  ///< of compiled grammars, the least recently used of which leave first
};

/// Compiles formats for one tokenizer, and keeps what it compiled. Thread-safe: threads compile beside each other. The
/// tokenizer must outlive the compiler, its grammars and their guides.
class compiler {
 public:
  explicit compiler(const text::tokenizer& tokens, compiler_options options = {});

  /// Throws std::invalid_argument, grammar_error if the format is at fault: one sentence that names what is malformed,
  /// not supported, or beyond a limit.
  std::shared_ptr<const compiled_grammar> compile(const response_format& format);

  std::size_t cached_bytes() const;

 private:
  struct entry {
    std::string key;
    std::shared_ptr<const compiled_grammar> grammar;
  };

  std::shared_ptr<const compiled_grammar> find(const std::string& key);
  void keep(std::string key, const std::shared_ptr<const compiled_grammar>& grammar);
  std::shared_ptr<const compiled_grammar> compile_new(const response_format& format);

  compiler_options options_;
  std::unique_ptr<backend> backend_;
  mutable std::mutex mutex_;
  std::list<entry> recent_;  // the most recently used first
  std::unordered_map<std::string, std::list<entry>::iterator> cached_;
  std::size_t cached_bytes_ = 0;
};

}  // namespace cogen::grammar
