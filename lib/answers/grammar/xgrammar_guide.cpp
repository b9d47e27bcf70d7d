#include "answers/grammar/xgrammar_guide.hpp"

#include "answers/grammar/steps.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <dlpack/dlpack.h>
#include <span>
#include <utility>

namespace cogen::grammar {
namespace {

constexpr std::size_t word_bits = 64;
constexpr int max_masks = 64;
constexpr int max_depth = 32;

/// For a mask, 40 ms of a processor or so; for all masks; and for those of each further token. Schemas of tools take a
/// hundredth of that, strings with a long maximum three quarters at each 128th character.
constexpr std::int64_t max_mask_steps = 8'000'000, max_masks_steps = 40'000'000, masks_steps_of_token = 500'000;
/// For the states of the text so far, which are kept: some tens of megabytes, and 20 kB for each further token.
constexpr std::int64_t max_text_steps = 4'000'000, steps_of_token = 2'000;
/// Of a processor, for each of them, however long their steps take.
constexpr std::chrono::milliseconds max_time(1000);
/// For what is forced, which is better not known than late.
constexpr std::int64_t max_forced_steps = 100'000;
/// A clone takes the matcher to its place again, later and not within a step, where to copy it would take as long as so
/// many steps.
constexpr std::int64_t max_copied_steps = 100'000;

constexpr const char* unmatched = "the grammar failed to match a text";

const std::string time_refusal = std::to_string(max_time.count()) + " ms of a processor";
const std::string mask_refusal = "the response format is too ambiguous: to find out what may follow takes more than " +
                                 std::to_string(max_mask_steps) + " steps or " + time_refusal + " for a token, or " +
                                 std::to_string(masks_steps_of_token) + " steps for each of many";
const std::string text_refusal = "the response format is too ambiguous: to follow its text takes more than " +
                                 std::to_string(max_text_steps) + " steps, and " + std::to_string(steps_of_token) +
                                 " for each token, or " + time_refusal;

template <typename Call>
auto matched(const Call& call) {
  return guarded<std::runtime_error>(unmatched, call);
}

bool is_set(std::span<const std::uint64_t> tokens, token id) {
  const auto place = static_cast<std::size_t>(id);
  return (tokens[place / word_bits] >> place % word_bits & 1) != 0;
}

void clear(std::span<std::uint64_t> tokens, token id) {
  const auto place = static_cast<std::size_t>(id);
  tokens[place / word_bits] &= ~(std::uint64_t{1} << place % word_bits);
}

/// Calls `visit` with each token of a mask until it says false.
template <typename Visit>
void for_each_token(std::span<const std::uint64_t> tokens, const Visit& visit) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (auto word = tokens[i]; word != 0; word &= word - 1) {
      count_step();
      if (!visit(static_cast<token>(i * word_bits + static_cast<std::size_t>(std::countr_zero(word))))) return;
    }
}

using prospect = distinct_reader::prospect;

/// Behind its last bracket nothing has to differ.
prospect outlook_of(const distinct_reader& reader) { return reader.is_open() ? reader.outlook() : prospect::open; }

/// The white space at the end of a token, which may ask for more.
std::string_view space_behind(std::string_view bytes) {
  const auto last = bytes.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? bytes : bytes.substr(last + 1);
}

void read_assuming(const bracket_rule& rule, std::string_view bytes, distinct_reader& reader) {
  for (const char byte : bytes)
    if (reader.is_open()) reader.read(byte, rule);
}

bool is_bracket(char byte) { return byte == '[' || byte == '{'; }

}  // namespace

template <typename Call>
std::int64_t xgrammar_guide::bounded(std::int64_t steps, const std::string& refusal, const Call& call) {
  work_bounds bounds{.work = "a token", .steps = steps};
  if (!brief_work::left()) bounds.time = max_time;
  const bounded_work work(bounds);
  try {
    call();
    return work.steps();
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const guide_postponed&) {
    matcher_.reset();
    throw;
  } catch (const work_error&) {
    failure_ = refusal;
    throw work_error(failure_);
  } catch (...) {
    failure_ = unmatched;
    throw;
  }
}

xgrammar_guide::xgrammar_guide(xgrammar::CompiledGrammar grammar, std::shared_ptr<const guide_parts> parts,
                               std::string_view begun)
    : grammar_(std::move(grammar)),
      parts_(std::move(parts)),
      begun_(begun),
      steps_left_(max_text_steps),
      mask_steps_left_(max_masks_steps) {
  bool is_begun = false;
  kept_steps_ = bounded(max_text_steps, text_refusal, [&] {
    matcher_.emplace(grammar_);
    is_begun = begin(begun);
  });
  if (!is_begun) throw std::invalid_argument("the grammar has no text that begins like this");
  is_complete_ = completes();
}

/// Says whether the grammar has a text that begins so.
bool xgrammar_guide::begin(std::string_view begun) {
  if (begun.empty()) return true;
  if (parts_->distinct.empty()) return matched([&] { return matcher_->AcceptString(std::string(begun)); });
  const auto brackets = accept_bytes(begun, captures_);
  if (brackets) append(begun, *brackets);
  return brackets.has_value();
}

xgrammar_guide::xgrammar_guide(const xgrammar_guide& other)
    : grammar_(other.grammar_),
      parts_(other.parts_),
      text_(other.text_),
      brackets_(other.brackets_),
      roots_(other.roots_),
      steps_(other.steps_),
      reader_(other.reader_.clone()),
      captures_(other.captures_),
      begun_(other.begun_),
      accepted_(other.accepted_),
      steps_left_(other.steps_left_),
      mask_steps_left_(other.mask_steps_left_),
      kept_steps_(other.kept_steps_),
      last_text_steps_(other.last_text_steps_),
      last_mask_steps_(other.last_mask_steps_),
      is_complete_(other.is_complete_),
      failure_(other.failure_),
      looks_ahead_(other.looks_ahead_) {
  if (other.matcher_ && kept_steps_ <= max_copied_steps) matcher_.emplace(other.matcher_->Fork());
  if (reader_.is_open()) reader_.settle(std::string_view(text_).substr(roots_.back()));
}

std::unique_ptr<guide> xgrammar_guide::clone() const { return std::unique_ptr<guide>(new xgrammar_guide(*this)); }

bool xgrammar_guide::is_complete() const { return is_complete_; }

bool xgrammar_guide::completes() const { return matcher_->IsTerminated() || matcher_->IsCompleted(); }

xgrammar::GrammarMatcher& xgrammar_guide::matcher() {
  if (!failure_.empty()) throw work_error(failure_);
  if (!matcher_) restart();
  return *matcher_;
}

void xgrammar_guide::restart() {
  if (brief_work::left()) throw guide_postponed();
  bounded(max_text_steps + std::ssize(accepted_) * steps_of_token, text_refusal, [&] {
    matcher_.emplace(grammar_);
    if (!begun_.empty()) matched([&] { return matcher_->AcceptString(begun_); });
    for (const auto& each : accepted_) matched([&] { return matcher_->AcceptToken(each.id); });
  });
}

std::string_view xgrammar_guide::bytes_of(token id) const {
  const auto& tokens = *parts_->tokens;
  const bool is_text = id >= 0 && static_cast<std::size_t>(id) < tokens.size() && !tokens.is_special(id);
  return is_text ? tokens.token_bytes(id) : std::string_view();
}

bool xgrammar_guide::allow(std::span<std::uint64_t> tokens) {
  const auto size = parts_->tokens->size();
  if (tokens.size() * word_bits < size)
    throw std::invalid_argument("a mask of " + std::to_string(tokens.size() * word_bits) +
                                " tokens is too small for a vocabulary of " + std::to_string(size));
  std::ranges::fill(tokens, 0);
  if (matcher().IsTerminated()) return true;
  brief_work::require(last_mask_steps_);
  last_mask_steps_ = bounded(std::min(max_mask_steps, mask_steps_left_), mask_refusal, [&] {
    fill(tokens);
    if (reader_.is_open()) reader_.in_free_string() ? keep_distinct_behind_strings(tokens) : keep_distinct(tokens);
  });
  mask_steps_left_ -= last_mask_steps_;
  return true;
}

void xgrammar_guide::fill(std::span<std::uint64_t> tokens) {
  const auto size = parts_->tokens->size();
  std::int64_t words = (static_cast<std::int64_t>(size) + 31) / 32;
  DLTensor bits{.data = tokens.data(),
                .device = {kDLCPU, 0},
                .ndim = 1,
                .dtype = xgrammar::GetBitmaskDLType(),
                .shape = &words,
                .strides = nullptr,
                .byte_offset = 0};
  matched([&] { return matcher_->FillNextTokenBitmask(&bits); });
  if (const auto rest = size % word_bits; rest != 0) tokens[size / word_bits] &= (std::uint64_t{1} << rest) - 1;
}

// What may repeat something

void xgrammar_guide::keep_distinct(std::span<std::uint64_t> tokens) {
  const auto& table = *parts_->table;
  const auto matching = reader_.matching_bytes();
  std::map<std::string, bool> known;
  for_each_token(tokens, [&](token id) {
    const bool makes_a_difference = table.may_end_part(id, reader_.in_string()) || matching[table.first_byte(id)];
    if (makes_a_difference && !may_follow(id, known)) clear(tokens, id);
    return true;
  });
}

/// What stands before a quote makes no difference there.
void xgrammar_guide::keep_distinct_behind_strings(std::span<std::uint64_t> tokens) {
  const auto& table = *parts_->table;
  enum class verdict : std::uint8_t { open, allowed, refused };
  std::vector<verdict> verdicts(table.tails());
  std::map<std::string, bool> known;
  for (const auto& [id, tail] : table.quoting()) {
    if (!is_set(tokens, id)) continue;
    auto own = verdict::open;
    auto& cached = tail == token_table::no_tail ? own : verdicts[static_cast<std::size_t>(tail)];
    if (cached == verdict::open) cached = may_follow(id, known) ? verdict::allowed : verdict::refused;
    if (cached == verdict::refused) clear(tokens, id);
  }
}

/// `known` is what was found out about other tokens at the same place, by what they spell.
bool xgrammar_guide::may_follow(token id, std::map<std::string, bool>& known) {
  auto next = reader_;
  read_assuming(bracket_rule::unknown(), bytes_of(id), next);
  if (next.repeats()) return false;
  if (outlook_of(next) != prospect::unknown) return outlook_of(next) == prospect::open;
  const auto [found, is_new] = known.try_emplace(next.news() + std::string(space_behind(bytes_of(id))));
  if (is_new) {
    masks_left_ = max_masks;
    found->second = goes_on_behind(reader_, id, 0);
  }
  return found->second;
}

bool xgrammar_guide::goes_on_behind(const distinct_reader& reader, token id, int depth) {
  const auto bytes = bytes_of(id);
  auto captures = static_cast<std::size_t>(0);
  if (std::ranges::any_of(bytes, is_bracket)) captures = matcher_->GetCaptures().size();
  if (!matched([&] { return matcher_->AcceptToken(id); })) return false;
  auto next = reader;
  read_on(next, bytes, brackets_of(bytes, id, captures));
  bool found = !next.repeats() && outlook_of(next) != prospect::closed;
  if (found && outlook_of(next) == prospect::unknown) found = goes_on(next, depth + 1);
  matcher_->Rollback(1);
  return found;
}

/// Looks for a way on that repeats nothing.
bool xgrammar_guide::goes_on(const distinct_reader& reader, int depth) {
  if (depth > max_depth || masks_left_ <= 0) return false;
  --masks_left_;
  const auto& table = *parts_->table;
  std::vector<std::uint64_t> tokens((parts_->tokens->size() + word_bits - 1) / word_bits);
  fill(tokens);
  const auto matching = reader.matching_bytes();
  std::map<std::string, token> unknown, spaces;
  bool found = false;
  for_each_token(tokens, [&](token id) {
    const auto bytes = bytes_of(id);
    if (bytes.empty()) return true;
    found = !table.may_end_part(id, reader.in_string()) && !matching[table.first_byte(id)];
    if (found) return false;
    auto next = reader;
    read_assuming(bracket_rule::unknown(), bytes, next);
    found = !next.repeats() && outlook_of(next) == prospect::open;
    if (!next.repeats() && outlook_of(next) == prospect::unknown)
      (next.news().size() > reader.news().size() ? unknown : spaces)
          .try_emplace(next.news() + std::string(space_behind(bytes)), id);
    return !found;
  });
  const auto leads_on = [&](const auto& candidate) { return goes_on_behind(reader, candidate.second, depth); };
  return found || std::ranges::any_of(unknown, leads_on) || std::ranges::any_of(spaces, leads_on);
}

// What was written

bracket_rule xgrammar_guide::rule_of_captures(std::size_t& known) const {
  const auto captures = matched([&] { return matcher_->GetCaptures(); });
  std::vector<const distinct_rule*> rules;
  for (auto i = std::min(std::exchange(known, captures.size()), captures.size()); i < captures.size(); ++i) {
    const auto& name = captures[i].first;
    std::size_t index = 0;
    if (!name.starts_with(bracket_capture)) continue;
    std::from_chars(name.data() + bracket_capture.size(), name.data() + name.size(), index);
    if (index < parts_->distinct.size()) rules.push_back(&parts_->distinct[index]);
  }
  return bracket_rule(rules);
}

std::optional<std::vector<xgrammar_guide::bracket>> xgrammar_guide::accept_bytes(std::string_view bytes,
                                                                                 std::size_t& captures) {
  std::vector<bracket> found;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!matched([&] { return matcher_->AcceptString(std::string(1, bytes[i])); })) return std::nullopt;
    if (!is_bracket(bytes[i])) continue;
    if (const auto rule = rule_of_captures(captures); rule.is_distinct()) found.push_back({i, rule});
  }
  return found;
}

std::vector<xgrammar_guide::bracket> xgrammar_guide::brackets_of(std::string_view bytes, token id,
                                                                 std::size_t& captures) {
  const auto count = std::ranges::count_if(bytes, is_bracket);
  if (count == 0) return {};
  auto known = captures;
  const auto rule = rule_of_captures(known);
  if (!rule.is_distinct()) return {};
  if (count == 1) {
    captures = known;
    return {{static_cast<std::size_t>(std::ranges::find_if(bytes, is_bracket) - bytes.begin()), rule}};
  }
  matcher_->Rollback(1);
  const auto found = accept_bytes(bytes, captures);
  matcher_->Rollback(static_cast<int>(bytes.size()));
  matched([&] { return matcher_->AcceptToken(id); });
  return found.value_or(std::vector<bracket>());
}

void xgrammar_guide::read_on(distinct_reader& reader, std::string_view bytes, const std::vector<bracket>& brackets) {
  auto next = brackets.begin();
  for (std::size_t i = 0; i < bytes.size() && !reader.repeats(); ++i) {
    const bool is_distinct = next != brackets.end() && next->offset == i;
    if (is_distinct && !reader.is_open()) reader = {};
    if (is_distinct || reader.is_open()) reader.read(bytes[i], is_distinct ? next->rule : bracket_rule());
    if (is_distinct) ++next;
  }
}

void xgrammar_guide::append(std::string_view bytes, const std::vector<bracket>& brackets) {
  auto next = brackets.begin();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is_distinct = next != brackets.end() && next->offset == i;
    if (is_distinct && !reader_.is_open()) {
      reader_ = {};
      roots_.push_back(text_.size() + i);
    }
    if (is_distinct) brackets_.push_back({text_.size() + i, next->rule});
    if (is_distinct || reader_.is_open()) reader_.read(bytes[i], is_distinct ? next->rule : bracket_rule());
    if (is_distinct) ++next;
  }
  text_ += bytes;  // the reader knows what was there before
  if (reader_.is_open()) reader_.settle(std::string_view(text_).substr(roots_.back()));
}

void xgrammar_guide::accept(token next) {
  const auto refuse = [&] {
    throw std::invalid_argument("token " + std::to_string(next) + " is not allowed by the grammar");
  };
  if (matcher().IsTerminated()) refuse();
  brief_work::require(last_text_steps_);
  bool is_allowed = true;
  if (reader_.is_open()) {
    std::map<std::string, bool> known;
    bounded(max_mask_steps, mask_refusal, [&] { is_allowed = may_follow(next, known); });
  }
  if (!is_allowed) refuse();
  const auto steps = bounded(steps_left_, text_refusal, [&] { is_allowed = accept_token(next); });
  if (!is_allowed) refuse();
  last_text_steps_ = steps;
  kept_steps_ += steps;
  steps_left_ = std::min(max_text_steps, steps_left_ - steps + steps_of_token);
  mask_steps_left_ = std::min(max_masks_steps, mask_steps_left_ + masks_steps_of_token);
  is_complete_ = completes();
  if (!reader_.repeats()) return;
  roll_back(1);
  refuse();
}

bool xgrammar_guide::accept_token(token next) {
  if (!matched([&] { return matcher_->AcceptToken(next); })) return false;
  if (!parts_->distinct.empty()) {
    const auto bytes = bytes_of(next);
    auto captures = captures_;
    const auto brackets = brackets_of(bytes, next, captures);
    steps_.push_back({text_.size(), std::exchange(captures_, captures)});
    append(bytes, brackets);
  }
  accepted_.push_back({.id = next, .steps_left = steps_left_, .kept_steps = kept_steps_, .was_complete = is_complete_});
  return true;
}

void xgrammar_guide::roll_back(int tokens) {
  if (tokens < 0 || static_cast<std::size_t>(tokens) > accepted_.size())
    throw std::invalid_argument("a guide that has accepted " + std::to_string(accepted_.size()) +
                                " tokens cannot roll back " + std::to_string(tokens));
  if (tokens == 0) return;
  if (!failure_.empty()) throw work_error(failure_);
  if (matcher_) matcher_->Rollback(tokens);
  const auto kept = accepted_.size() - static_cast<std::size_t>(tokens);
  steps_left_ = accepted_[kept].steps_left;
  kept_steps_ = accepted_[kept].kept_steps;
  is_complete_ = accepted_[kept].was_complete;
  accepted_.resize(kept);
  if (parts_->distinct.empty()) return;
  const auto [length, captures] = steps_[kept];
  steps_.resize(kept);
  captures_ = captures;
  if (length < text_.size()) read_again(length);
}

void xgrammar_guide::read_again(std::size_t length) {
  text_.resize(length);
  while (!brackets_.empty() && brackets_.back().offset >= length) brackets_.pop_back();
  while (!roots_.empty() && roots_.back() >= length) roots_.pop_back();
  reader_ = {};
  if (roots_.empty()) return;
  const auto root = roots_.back();
  auto next = std::ranges::lower_bound(brackets_, root, {}, &bracket::offset);
  for (auto i = root; i < text_.size() && (i == root || reader_.is_open()); ++i) {
    const bool is_distinct = next != brackets_.end() && next->offset == i;
    reader_.read(text_[i], is_distinct ? next->rule : bracket_rule());
    if (is_distinct) ++next;
  }
  if (reader_.is_open()) reader_.settle(std::string_view(text_).substr(root));
}

// What comes next

/// A tokenizer that normalizes may spell another text.
bool xgrammar_guide::spell_prefix(const std::vector<token>& tokens, std::string_view text) const {
  for (const auto id : tokens) {
    const auto bytes = bytes_of(id);
    if (bytes.empty() || !text.starts_with(bytes)) return false;
    text.remove_prefix(bytes.size());
  }
  return true;
}

std::vector<token> xgrammar_guide::forced() {
  if (!looks_ahead_ || !failure_.empty() || brief_work::left().value_or(max_forced_steps) < max_forced_steps) return {};
  if ((!matcher_ && brief_work::left()) || matcher().IsTerminated()) return {};
  std::string text;
  try {
    bounded(max_forced_steps, unmatched, [&] { text = matched([&] { return matcher_->FindJumpForwardString(); }); });
  } catch (const work_error&) {  // it is left in the middle of something
    looks_ahead_ = false;
    failure_.clear();
    matcher_.reset();
    return {};
  }
  if (text.empty()) return {};
  auto tokens = parts_->tokens->encode(text);
  tokens.pop_back();  // with what follows it may be another token
  return spell_prefix(tokens, text) ? tokens : std::vector<token>();
}

}  // namespace cogen::grammar
