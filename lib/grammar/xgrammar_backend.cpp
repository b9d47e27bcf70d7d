#include "grammar/backend.hpp"
#include "grammar/distinct_strings.hpp"
#include "grammar/grammar_error.hpp"

#include <algorithm>
#include <dlpack/dlpack.h>
#include <exception>
#include <new>
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

constexpr std::size_t word_bits = 64;

/// What XGrammar says of itself is for nobody who sends a request.
template <typename Error, typename Call>
auto guarded(const char* message, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    throw Error(message);
  }
}

template <typename Call>
auto matched(const Call& call) {
  return guarded<std::runtime_error>("the grammar failed to match a text", call);
}

class xgrammar_guide : public guide {
 public:
  /// `quoting`: the tokens with a quote, if the grammar captures strings that have to be distinct.
  xgrammar_guide(xgrammar::GrammarMatcher matcher, std::shared_ptr<const text::tokenizer> tokens,
                 std::shared_ptr<const std::vector<token>> quoting, std::string_view begun)
      : matcher_(std::move(matcher)), tokens_(std::move(tokens)), quoting_(std::move(quoting)), text_(begun) {
    find_strings(0);
  }

  bool allow(std::span<std::uint64_t> tokens) override {
    if (tokens.size() * word_bits < tokens_->size())
      throw std::invalid_argument("a mask of " + std::to_string(tokens.size() * word_bits) +
                                  " tokens is too small for a vocabulary of " + std::to_string(tokens_->size()));
    std::fill(tokens.begin(), tokens.end(), 0);
    if (matcher_.IsTerminated()) return true;
    std::int64_t words = (static_cast<std::int64_t>(tokens_->size()) + 31) / 32;
    DLTensor bits{.data = tokens.data(),
                  .device = {kDLCPU, 0},
                  .ndim = 1,
                  .dtype = xgrammar::GetBitmaskDLType(),
                  .shape = &words,
                  .strides = nullptr,
                  .byte_offset = 0};
    matched([&] { return matcher_.FillNextTokenBitmask(&bits); });
    clear_beyond_vocabulary(tokens);
    if (strings_.is_open())
      for (const auto id : *quoting_) {
        auto& word = tokens[static_cast<std::size_t>(id) / word_bits];
        const auto bit = std::uint64_t{1} << static_cast<std::size_t>(id) % word_bits;
        if ((word & bit) != 0 && strings_.would_repeat(tokens_->token_bytes(id))) word &= ~bit;
      }
    return true;
  }

  void accept(token next) override {
    const bool repeats = strings_.is_open() && is_known(next) && strings_.would_repeat(tokens_->token_bytes(next));
    if (!repeats && !matcher_.IsTerminated() && matched([&] { return matcher_.AcceptToken(next); })) {
      ++accepted_;
      if (quoting_) {
        steps_.push_back({text_.size(), opened_});
        if (!tokens_->is_special(next)) text_ += tokens_->token_bytes(next);
        find_strings(steps_.back().length);
      }
      return;
    }
    throw std::invalid_argument("token " + std::to_string(next) + " is not allowed by the grammar");
  }

  void roll_back(int tokens) override {
    if (tokens < 0 || tokens > accepted_)
      throw std::invalid_argument("a guide that has accepted " + std::to_string(accepted_) +
                                  " tokens cannot roll back " + std::to_string(tokens));
    if (tokens > 0) matcher_.Rollback(tokens);
    accepted_ -= tokens;
    if (!quoting_ || tokens == 0) return;
    steps_.resize(steps_.size() - static_cast<std::size_t>(tokens) + 1);
    text_.resize(steps_.back().length);
    opened_ = steps_.back().opened;
    steps_.pop_back();
    find_strings(text_.size());
  }

  std::unique_ptr<guide> clone() const override {
    auto copy = std::make_unique<xgrammar_guide>(matcher_.Fork(), tokens_, quoting_, text_);
    copy->steps_ = steps_;
    copy->opened_ = opened_;
    copy->strings_ = strings_;
    copy->accepted_ = accepted_;
    return copy;
  }

  bool is_complete() const override { return matcher_.IsTerminated() || matcher_.IsCompleted(); }

  std::vector<token> forced() override {
    if (matcher_.IsTerminated() || strings_.is_open()) return {};
    const auto text = matched([&] { return matcher_.FindJumpForwardString(); });
    if (text.empty()) return {};
    auto tokens = tokens_->encode(text);
    tokens.pop_back();  // with what follows it may be another token
    return spell_prefix(tokens, text) ? tokens : std::vector<token>();
  }

 private:
  void clear_beyond_vocabulary(std::span<std::uint64_t> tokens) const {
    const auto rest = tokens_->size() % word_bits;
    if (rest != 0) tokens[tokens_->size() / word_bits] &= (std::uint64_t{1} << rest) - 1;
  }

  /// A tokenizer that normalizes may spell another text.
  bool spell_prefix(const std::vector<token>& tokens, std::string_view text) const {
    for (const auto id : tokens) {
      const auto bytes = tokens_->token_bytes(id);
      if (tokens_->is_special(id) || !text.starts_with(bytes)) return false;
      text.remove_prefix(bytes.size());
    }
    return true;
  }

  bool is_known(token id) const { return id >= 0 && static_cast<std::size_t>(id) < tokens_->size(); }

  /// The last array of distinct strings: how many came so far, and where in the text the token is that opened it.
  struct opened_array {
    std::size_t count = 0;
    std::size_t from = 0;
    std::size_t to = 0;
  };

  /// What was before a token.
  struct step {
    std::size_t length;
    opened_array opened;
  };

  /// After the text has got longer from a place on.
  void find_strings(std::size_t from) {
    if (!quoting_) return;
    const auto count = static_cast<std::size_t>(
        std::ranges::count_if(matched([&] { return matcher_.GetCaptures(); }),
                              [](const auto& each) { return each.first.starts_with(array_capture); }));
    if (count > opened_.count) opened_ = {count, from, text_.size()};
    const auto place = last_array(text_);
    const bool is_distinct = opened_.count > 0 && place >= opened_.from && place < opened_.to;
    strings_ = is_distinct ? distinct_strings(std::string_view(text_).substr(place + 1)) : distinct_strings();
  }

  xgrammar::GrammarMatcher matcher_;
  std::shared_ptr<const text::tokenizer> tokens_;
  std::shared_ptr<const std::vector<token>> quoting_;
  std::string text_;  // as far as it matters for distinct strings
  std::vector<step> steps_;
  opened_array opened_;
  distinct_strings strings_;
  int accepted_ = 0;
};

class xgrammar_grammar : public compiled_grammar {
 public:
  xgrammar_grammar(xgrammar::CompiledGrammar grammar, std::shared_ptr<const text::tokenizer> tokens,
                   std::shared_ptr<const std::vector<token>> quoting)
      : grammar_(std::move(grammar)),
        tokens_(std::move(tokens)),
        quoting_(std::move(quoting)),
        bytes_(grammar_.MemorySizeBytes()) {}

  std::unique_ptr<guide> start(std::string_view begun) const override {
    xgrammar::GrammarMatcher matcher(grammar_);
    if (!begun.empty() && !matched([&] { return matcher.AcceptString(std::string(begun)); }))
      throw std::invalid_argument("the grammar has no text that begins like this");
    return std::make_unique<xgrammar_guide>(std::move(matcher), tokens_, quoting_, begun);
  }

  std::size_t bytes() const noexcept override { return bytes_; }

  const text::tokenizer& tokens() const noexcept override { return *tokens_; }

 private:
  xgrammar::CompiledGrammar grammar_;
  std::shared_ptr<const text::tokenizer> tokens_;
  std::shared_ptr<const std::vector<token>> quoting_;
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

std::vector<token> tokens_with_quotes(const text::tokenizer& tokens) {
  std::vector<token> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<token>(i);
    if (!tokens.is_special(id) && tokens.token_bytes(id).find('"') != std::string_view::npos) found.push_back(id);
  }
  return found;
}

class xgrammar_backend : public backend {
 public:
  explicit xgrammar_backend(std::shared_ptr<const text::tokenizer> tokens)
      : tokens_(std::move(tokens)),
        compiler_(vocabulary_of(*tokens_), 1, true, rule_cache_bytes),
        quoting_(std::make_shared<const std::vector<token>>(tokens_with_quotes(*tokens_))) {}

  std::shared_ptr<compiled_grammar> compile(const std::string& ebnf) override {
    return guarded<grammar_error>("the grammar is malformed, or cannot be compiled", [&] {
      const bool captures = ebnf.find("[capture=") != std::string::npos;
      return std::make_shared<xgrammar_grammar>(compiler_.CompileGrammar(ebnf), tokens_, captures ? quoting_ : nullptr);
    });
  }

 private:
  /// Of what grammars have in common, such as the strings of JSON.
  static constexpr std::int64_t rule_cache_bytes = 64 << 20;

  std::shared_ptr<const text::tokenizer> tokens_;
  xgrammar::GrammarCompiler compiler_;
  std::shared_ptr<const std::vector<token>> quoting_;
};

}  // namespace

std::unique_ptr<backend> make_backend(std::shared_ptr<const text::tokenizer> tokens) {
  return std::make_unique<xgrammar_backend>(std::move(tokens));
}

bool has_backend() noexcept { return true; }

}  // namespace cogen::grammar
