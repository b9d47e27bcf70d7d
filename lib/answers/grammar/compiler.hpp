#pragma once

#include "answers/grammar/backend.hpp"
#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/compiled_grammar.hpp"
#include "answers/grammar/format_cache.hpp"
#include "answers/grammar/json_schema.hpp"

#include <cogen/response_format.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace cogen::grammar {

/// Who has a format compiled.
struct format_client {
  std::uint64_t tenant = 0;
  work_watch* watch = nullptr;
};

/// Compiles formats for one tokenizer, and keeps what it compiled for each tenant: nothing of it, and no time, depends
/// on what other tenants have had compiled, but for how many of them there are. Thread-safe: threads compile beside
/// each other.
class compiler {
 public:
  /// Of which it keeps something, those that have asked last.
  static constexpr std::size_t max_tenants = 64;

  /// By which the memory of the process may grow while a format is compiled.
  static constexpr std::size_t max_growth = std::size_t{1} << 30;

  /// Without a tokenizer every format is refused. The first format to be compiled takes longer: it reads the
  /// vocabulary.
  explicit compiler(std::shared_ptr<const text::tokenizer> tokens, structured_output_options options = {});

  /// Throws std::invalid_argument, grammar_error if the format is at fault: one message that names what is malformed,
  /// not supported, or beyond a limit. What the watch throws ends it.
  std::shared_ptr<const compiled_grammar> compile(const response_format& format, const format_client& client = {});

  /// Whether the format is compiled already for the tenant.
  bool knows(const response_format& format, std::uint64_t tenant = 0);

  using writer = std::function<schema_grammar()>;

  /// The same for a grammar of ours, as check_ebnf() takes it with patterns; to write it counts as compiling it.
  std::shared_ptr<const compiled_grammar> compile_rules(const schema_grammar& rules, const format_client& client = {});
  std::shared_ptr<const compiled_grammar> compile_rules(const writer& write, const format_client& client = {});

  std::size_t cached_bytes() const;  ///< of all tenants

 private:
  /// How a format is compiled.
  struct way {
    bool patterns;
    const format_client& client;
  };

  struct tenant_formats {
    std::uint64_t tenant;
    format_cache formats;
  };

  template <typename Call>
  auto bounded(work_watch* watch, const Call& call) const;
  std::shared_ptr<const compiled_grammar> compile_new(backend& with, const writer& write, const way& options) const;
  std::shared_ptr<const compiled_grammar> find_or_compile(std::string key, const writer& write, const way& options);

  const backend& backend_of_vocabulary();
  std::unique_ptr<backend> new_backend() const;

  // Under the lock, like what follows them.
  std::list<tenant_formats>::iterator place_of(std::uint64_t tenant);
  format_cache& formats_of(std::uint64_t tenant);  ///< of one that asks now
  void add_tenant(std::uint64_t tenant);

  const std::shared_ptr<const text::tokenizer> tokens_;
  const structured_output_options options_;
  std::once_flag made_backend_;
  std::unique_ptr<const backend> backend_;
  mutable std::mutex mutex_;
  std::list<tenant_formats> tenants_;  // those that have asked last first
  std::size_t shares_ = 1;             // into which memory is divided, one for each tenant
};

}  // namespace cogen::grammar
