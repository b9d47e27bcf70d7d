#include "answers/grammar/backend.hpp"
#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/token_table.hpp"
#include "answers/grammar/xgrammar_guide.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <xgrammar/xgrammar.h>

// What XGrammar calls instead of writing to the standard error stream. It chose the names.
// NOLINTBEGIN(readability-identifier-naming)
namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string&, int, int, const std::string&) {}

}  // namespace xgrammar
// NOLINTEND(readability-identifier-naming)

namespace cogen::grammar {
namespace {

class xgrammar_grammar : public compiled_grammar {
 public:
  xgrammar_grammar(xgrammar::CompiledGrammar grammar, std::shared_ptr<const guide_parts> parts)
      : grammar_(std::move(grammar)), parts_(std::move(parts)), bytes_(grammar_.MemorySizeBytes()) {}

  std::unique_ptr<guide> start(std::string_view begun) const override {
    return std::make_unique<xgrammar_guide>(grammar_, parts_, begun);
  }

  std::size_t bytes() const noexcept override { return bytes_; }

  const text::tokenizer& tokens() const noexcept override { return *parts_->tokens; }

 private:
  xgrammar::CompiledGrammar grammar_;
  std::shared_ptr<const guide_parts> parts_;
  std::size_t bytes_;
};

/// Control tokens begin with a byte that is in no text, so that a grammar allows them only as Token(id).
xgrammar::TokenizerInfo vocabulary_of(const text::tokenizer& tokens) {
  std::vector<std::string> bytes(tokens.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto id = static_cast<token>(i);
    bytes[i] = tokens.is_special(id) ? "\xFF" + tokens.token_text(id) : std::string(tokens.token_bytes(id));
  }
  const std::vector<std::int32_t> stops(tokens.eos().begin(), tokens.eos().end());
  return {bytes, xgrammar::VocabType::RAW, std::nullopt, stops};
}

/// What all grammars are compiled for.
struct compiled_vocabulary {
  explicit compiled_vocabulary(std::shared_ptr<const text::tokenizer> tokenizer)
      : tokens(std::move(tokenizer)),
        bytes(vocabulary_of(*tokens)),
        table(std::make_shared<const token_table>(*tokens)) {}

  std::shared_ptr<const text::tokenizer> tokens;
  xgrammar::TokenizerInfo bytes;
  std::shared_ptr<const token_table> table;
};

class xgrammar_backend : public backend {
 public:
  xgrammar_backend(std::shared_ptr<const compiled_vocabulary> vocabulary, std::size_t bytes)
      : vocabulary_(std::move(vocabulary)), bytes_(static_cast<std::int64_t>(bytes)), compiler_(new_compiler()) {}

  std::shared_ptr<compiled_grammar> compile(const std::string& ebnf, std::vector<distinct_rule> distinct) override {
    auto [compiler, number] = begin_compiling();
    const auto begin = thread_time();
    try {
      return guarded<grammar_error>("the grammar is malformed, or cannot be compiled", [&] {
        return std::make_shared<xgrammar_grammar>(compiler.CompileGrammar("# " + std::to_string(number) + "\n" + ebnf),
                                                  std::make_shared<const guide_parts>(guide_parts{
                                                      vocabulary_->tokens, vocabulary_->table, std::move(distinct)}));
      });
    } catch (...) {
      forget_failures(ebnf.size(), thread_time() - begin);
      throw;
    }
  }

  std::unique_ptr<backend> separate(std::size_t bytes) const override {
    return std::make_unique<xgrammar_backend>(vocabulary_, bytes);
  }

 private:
  static constexpr std::size_t max_failed_bytes = 16 << 20;
  static constexpr std::chrono::milliseconds max_failed_time{100};

  xgrammar::GrammarCompiler new_compiler() const { return {vocabulary_->bytes, 1, bytes_ > 0, bytes_}; }

  /// XGrammar has whoever compiles a text that is being compiled wait for the first one, and share its failure, which
  /// may be that nobody waits for it any more. A number makes each text another one.
  std::pair<xgrammar::GrammarCompiler, std::uint64_t> begin_compiling() {
    const std::lock_guard lock(mutex_);
    return {compiler_, ++compiled_};
  }

  /// XGrammar keeps the text of each failure for ever, and the masks of rules that were computed until then.
  void forget_failures(std::size_t bytes, std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    failed_bytes_ += bytes;
    failed_time_ += time;
    if (failed_bytes_ < max_failed_bytes && failed_time_ < max_failed_time) return;
    failed_bytes_ = 0;
    failed_time_ = {};
    compiler_ = new_compiler();
  }

  const std::shared_ptr<const compiled_vocabulary> vocabulary_;
  const std::int64_t bytes_;
  std::mutex mutex_;
  xgrammar::GrammarCompiler compiler_;  // under the lock, like what follows
  std::uint64_t compiled_ = 0;
  std::size_t failed_bytes_ = 0;
  std::chrono::milliseconds failed_time_{0};
};

}  // namespace

std::unique_ptr<backend> make_backend(std::shared_ptr<const text::tokenizer> tokens) {
  return std::make_unique<xgrammar_backend>(std::make_shared<const compiled_vocabulary>(std::move(tokens)), 0);
}

bool has_backend() noexcept { return true; }

}  // namespace cogen::grammar
