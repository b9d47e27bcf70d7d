#pragma once

#include "cogen/response_format.hpp"
#include "cogen/text/tokenizer.hpp"
#include "grammar/backend.hpp"
#include "grammar/compiled_grammar.hpp"
#include "grammar/json_schema.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace cogen::grammar {

/// Compiles formats for one tokenizer, and keeps what it compiled. Thread-safe: threads compile beside each other.
class compiler {
 public:
  /// Without a tokenizer every format is refused. The first format to be compiled takes longer: it reads the
  /// vocabulary.
  explicit compiler(std::shared_ptr<const text::tokenizer> tokens, structured_output_options options = {});

  /// Throws std::invalid_argument, grammar_error if the format is at fault: one sentence that names what is malformed,
  /// not supported, or beyond a limit.
  /// `cancelled`, which any thread may set, has it throw work_cancelled soon.
  std::shared_ptr<const compiled_grammar> compile(const response_format& format,
                                                  const std::atomic<bool>* cancelled = nullptr);

  /// Whether the format is compiled already.
  bool knows(const response_format& format);

  using writer = std::function<schema_grammar()>;

  /// The same for a grammar of ours, as check_ebnf() takes it with patterns; to write it counts as compiling it.
  std::shared_ptr<const compiled_grammar> compile_rules(const schema_grammar& rules,
                                                        const std::atomic<bool>* cancelled = nullptr);
  std::shared_ptr<const compiled_grammar> compile_rules(const writer& write,
                                                        const std::atomic<bool>* cancelled = nullptr);

  std::size_t cached_bytes() const;

 private:
  struct entry {
    std::string key;
    std::shared_ptr<const compiled_grammar> grammar;
  };

  std::shared_ptr<const compiled_grammar> find(const std::string& key);
  void keep(std::string key, const std::shared_ptr<const compiled_grammar>& grammar);
  template <typename Call>
  auto bounded(const std::atomic<bool>* cancelled, const Call& call) const;

  /// How a format is compiled.
  struct way {
    bool patterns;
    const std::atomic<bool>* cancelled;
  };

  std::shared_ptr<const compiled_grammar> compile_new(const writer& write, const way& how);
  std::shared_ptr<const compiled_grammar> find_or_compile(std::string key, const writer& write, const way& how);

  backend& backend_of_vocabulary();

  const std::shared_ptr<const text::tokenizer> tokens_;
  const structured_output_options options_;
  std::once_flag made_backend_;
  std::unique_ptr<backend> backend_;
  mutable std::mutex mutex_;
  std::list<entry> recent_;  // the most recently used first
  std::unordered_map<std::string, std::list<entry>::iterator> cached_;
  std::size_t cached_bytes_ = 0;
};

}  // namespace cogen::grammar
