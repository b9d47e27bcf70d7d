#pragma once

#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/distinct_reader.hpp"
#include "answers/grammar/distinct_rule.hpp"
#include "answers/grammar/token_table.hpp"

#include <cogen/guide.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>
#include <xgrammar/xgrammar.h>

namespace cogen::grammar {

/// What XGrammar says of itself is for nobody who sends a request; what stops it is.
template <typename Error, typename Call>
auto guarded(const char* message, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const work_error&) {
    throw;
  } catch (const work_interrupted&) {
    throw;
  } catch (const guide_postponed&) {
    throw;
  } catch (const std::exception&) {
    throw Error(message);
  }
}

/// What the guides of one grammar share.
struct guide_parts {
  std::shared_ptr<const text::tokenizer> tokens;
  std::shared_ptr<const token_table> table;
  std::vector<distinct_rule> distinct;  ///< what no grammar says: items and names that have to differ
};

/// A place in a grammar of XGrammar. What a token may cost is bounded: beyond that, members throw work_error. Within a
/// brief_work they throw guide_postponed where that ends, or where the last token took more.
class xgrammar_guide : public guide {
 public:
  /// `begun` is the text so far, which the matcher has not seen. Throws std::invalid_argument where the grammar has no
  /// such text.
  xgrammar_guide(xgrammar::CompiledGrammar grammar, std::shared_ptr<const guide_parts> parts, std::string_view begun);

  bool allow(std::span<std::uint64_t> tokens) override;
  void accept(token next) override;
  void roll_back(int tokens) override;
  std::unique_ptr<guide> clone() const override;
  bool is_complete() const override;
  std::vector<token> forced() override;

 private:
  /// What was before a token.
  struct step {
    std::size_t length;
    std::size_t captures;
  };

  /// A bracket of the text behind which something has to differ.
  struct bracket {
    std::size_t offset;
    bracket_rule rule;
  };

  xgrammar_guide(const xgrammar_guide& other);

  /// Calls what may take so many steps, and returns how many it took; `refusal` says why it may not take more. What it
  /// throws leaves the matcher in the middle of something: it is lost, or nothing can be asked of the guide any more.
  template <typename Call>
  std::int64_t bounded(std::int64_t steps, const std::string& refusal, const Call& call);
  bool begin(std::string_view begun);
  bool accept_token(token next);
  bool completes() const;

  /// Takes it to its place again if it is lost, unless a step waits.
  xgrammar::GrammarMatcher& matcher();
  void restart();

  std::string_view bytes_of(token id) const;
  void fill(std::span<std::uint64_t> tokens);
  void keep_distinct(std::span<std::uint64_t> tokens);
  void keep_distinct_behind_strings(std::span<std::uint64_t> tokens);
  bool may_follow(token id, std::map<std::string, bool>& known);
  bool goes_on_behind(const distinct_reader& reader, token id, int depth);
  bool goes_on(const distinct_reader& reader, int depth);

  /// The brackets in the last token, which the matcher has accepted, and of which it had that many captures before.
  std::vector<bracket> brackets_of(std::string_view bytes, token id, std::size_t& captures);
  /// Lets the matcher accept bytes one by one; none if it does not.
  std::optional<std::vector<bracket>> accept_bytes(std::string_view bytes, std::size_t& captures);
  bracket_rule rule_of_captures(std::size_t& known) const;
  static void read_on(distinct_reader& reader, std::string_view bytes, const std::vector<bracket>& brackets);
  void append(std::string_view bytes, const std::vector<bracket>& brackets);
  void read_again(std::size_t length);
  bool spell_prefix(const std::vector<token>& tokens, std::string_view text) const;

  xgrammar::CompiledGrammar grammar_;
  std::optional<xgrammar::GrammarMatcher> matcher_;  // none: it is lost
  std::shared_ptr<const guide_parts> parts_;
  std::string text_;                // as far as something may have to differ in it
  std::vector<bracket> brackets_;   // of the text
  std::vector<std::size_t> roots_;  // those among them that no other one is around
  std::vector<step> steps_;
  distinct_reader reader_;
  std::size_t captures_ = 0;
  int masks_left_ = 0;  // to be looked at for a token
  std::string begun_;
  /// And what was before it.
  struct accepted_token {
    token id;
    std::int64_t steps_left;
    std::int64_t kept_steps;
    bool was_complete;
  };
  std::vector<accepted_token> accepted_;
  std::int64_t steps_left_;  // for what the matcher keeps of the text
  std::int64_t mask_steps_left_;
  std::int64_t kept_steps_ = 0;  // that led to its place
  std::int64_t last_text_steps_ = 0, last_mask_steps_ = 0;
  bool is_complete_ = false;
  std::string failure_;      // of a call, and of all behind it
  bool looks_ahead_ = true;  // for what is forced
};

}  // namespace cogen::grammar
