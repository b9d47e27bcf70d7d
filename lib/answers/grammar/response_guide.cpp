#include "answers/grammar/response_guide.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::grammar {
namespace {

constexpr std::size_t mask_word_bits = 64;

void allow_all(std::span<std::uint64_t> tokens) { std::ranges::fill(tokens, ~std::uint64_t{0}); }

void set(std::span<std::uint64_t> tokens, token id, bool allowed) {
  auto& word = tokens[static_cast<std::size_t>(id) / mask_word_bits];
  const auto bit = std::uint64_t{1} << static_cast<std::size_t>(id) % mask_word_bits;
  word = allowed ? word | bit : word & ~bit;
}

[[noreturn]] void refuse(token id) {
  throw std::invalid_argument("token " + std::to_string(id) + " is not allowed in the response");
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

class response_guide : public guide {
 public:
  response_guide(std::shared_ptr<const response_marks> marks, response_rules rules)
      : marks_(std::move(marks)),
        budget_(rules.reasoning_budget),
        forbids_calls_(rules.forbids_calls),
        grammar_(std::move(rules.calls)),
        answer_(std::move(rules.answer)) {
    if (!marks_->reasoning_end)
      begin_answer();
    else if (rules.in_reasoning)
      begin_reasoning();
    else
      current_.where = answer_ ? place::opening : place::text;
  }

  bool allow(std::span<std::uint64_t> tokens) override {
    switch (current_.where) {
      case place::opening:
        return allow_opening(tokens);
      case place::reasoning:
        return allow_reasoning(tokens);
      case place::closing:
        std::ranges::fill(tokens, 0);
        set(tokens, marks_->reasoning_close[current_.closed], true);
        return true;
      case place::text:
        return allow_text(tokens);
      case place::call:
        return calls_.back()->allow(tokens);
      case place::answer:
        return answer_->allow(tokens);
    }
    return false;
  }

  void accept(token next) override {
    auto previous = current_;
    previous.accepted = next;
    switch (current_.where) {
      case place::opening:
        previous.guided = accept_opening(next);
        break;
      case place::reasoning:
        accept_reasoning(next);
        break;
      case place::closing:
        if (next != marks_->reasoning_close[current_.closed]) refuse(next);
        if (++current_.closed == marks_->reasoning_close.size()) begin_answer();
        break;
      case place::text:
        previous.began_call = accept_text(next);
        break;
      case place::call:
        calls_.back()->accept(next);
        previous.guided = true;
        if (calls_.back()->is_complete()) current_ = {.where = place::text, .reasoned = current_.reasoned};
        break;
      case place::answer:
        answer_->accept(next);
        previous.guided = true;
        break;
    }
    history_.push_back(std::move(previous));
  }

  void roll_back(int tokens) override {
    if (tokens < 0 || static_cast<std::size_t>(tokens) > history_.size())
      throw std::invalid_argument("a guide that has accepted " + std::to_string(history_.size()) +
                                  " tokens cannot roll back " + std::to_string(tokens));
    for (; tokens > 0; --tokens) {
      current_ = std::move(history_.back());
      history_.pop_back();
      if (current_.guided) (current_.where == place::call ? *calls_.back() : *answer_).roll_back(1);
      if (std::exchange(current_.began_call, false)) calls_.pop_back();
      current_.guided = false;
    }
  }

  std::unique_ptr<guide> clone() const override { return std::make_unique<response_guide>(*this); }

  bool is_complete() const override {
    if (current_.where == place::call || current_.where == place::closing) return false;
    if (!answer_) return true;
    return (current_.where == place::answer || current_.where == place::opening) && answer_->is_complete();
  }

  std::vector<token> forced() override {
    if (current_.where == place::closing)
      return {marks_->reasoning_close.begin() + static_cast<std::ptrdiff_t>(current_.closed),
              marks_->reasoning_close.end()};
    if (current_.where == place::call) return calls_.back()->forced();
    return current_.where == place::answer ? answer_->forced() : std::vector<token>();
  }

  response_guide(const response_guide& other)
      : marks_(other.marks_),
        budget_(other.budget_),
        forbids_calls_(other.forbids_calls_),
        grammar_(other.grammar_),
        answer_(other.answer_ ? other.answer_->clone() : nullptr),
        current_(other.current_),
        history_(other.history_) {
    for (const auto& each : other.calls_) calls_.push_back(each->clone());
  }

 private:
  enum class place : std::uint8_t {
    opening,    // of the reasoning, or of an answer that is guided
    reasoning,  // while its budget lasts
    closing,    // the reasoning has to end
    text,
    call,
    answer,
  };

  /// Where it is; in its history also what took it further.
  struct state {
    place where = place::text;
    std::string tail = {};    // of a text that is looked for
    int reasoned = 0;         // tokens
    std::size_t closed = 0;   // of those that end the reasoning
    token accepted = 0;       // next
    bool guided = false;      // by the guide of the call or the answer
    bool began_call = false;  // with that token
  };

  // The reasoning

  void begin_reasoning() {
    current_ = {.where = place::reasoning, .reasoned = current_.reasoned};
    close_when_spent();
  }

  void close_when_spent() {
    if (budget_ && current_.reasoned >= *budget_) current_ = {.where = place::closing, .reasoned = current_.reasoned};
  }

  void begin_answer() { current_ = {.where = answer_ ? place::answer : place::text, .reasoned = current_.reasoned}; }

  bool allow_opening(std::span<std::uint64_t> tokens) {
    if (!answer_->allow(tokens)) return false;
    if (marks_->reasoning_open) set(tokens, *marks_->reasoning_open, true);
    return true;
  }

  bool accept_opening(token next) {
    if (next == marks_->reasoning_open) {
      begin_reasoning();
      return false;
    }
    answer_->accept(next);
    begin_answer();
    return true;
  }

  /// Behind the end of the reasoning, in the same token, a guided answer does not begin yet.
  bool is_cut(const text_trigger::completion& candidate) const {
    const auto spelled = marks_->reasoning_end->spelling(candidate.id);
    return answer_ && !is_blank(spelled.substr(spelled.size() - candidate.found.after));
  }

  bool allow_reasoning(std::span<std::uint64_t> tokens) {
    if (!answer_) return false;
    allow_all(tokens);
    for (const auto id : marks_->ends) set(tokens, id, false);
    for (const auto& each : marks_->reasoning_end->completions(current_.tail))
      if (is_cut(each)) set(tokens, each.id, false);
    return true;
  }

  void accept_reasoning(token next) {
    if (answer_ && std::ranges::find(marks_->ends, next) != marks_->ends.end()) refuse(next);
    auto tail = current_.tail;
    const auto found = marks_->reasoning_end->step(tail, next);
    if (found && is_cut({next, *found})) refuse(next);
    current_.tail = std::move(tail);
    ++current_.reasoned;
    if (found) return begin_answer();
    close_when_spent();
  }

  // Text with calls

  bool opens_call(const text_trigger::match& found) const { return found.which < marks_->calls; }

  bool is_forbidden(const text_trigger::completion& candidate) const {
    if (!opens_call(candidate.found)) return false;
    if (forbids_calls_ || !grammar_) return forbids_calls_;
    try {
      static_cast<void>(call_after(candidate.id, candidate.found));
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  }

  bool allow_text(std::span<std::uint64_t> tokens) {
    if (!forbids_calls_ && !grammar_) return false;
    auto completions = marks_->openings->completions(current_.tail);
    std::erase_if(completions, [&](const auto& candidate) {
      const bool may_be_wrong = forbids_calls_ || candidate.found.after > 0 || !current_.tail.empty();
      return !may_be_wrong || !is_forbidden(candidate);
    });
    if (completions.empty()) return false;
    allow_all(tokens);
    for (const auto& each : completions) set(tokens, each.id, false);
    return true;
  }

  /// Says whether a call has begun.
  bool accept_text(token next) {
    auto tail = current_.tail;
    const auto found = marks_->openings ? marks_->openings->step(tail, next) : std::nullopt;
    if (found && opens_call(*found) && forbids_calls_) refuse(next);
    const bool begins_call = found && opens_call(*found) && grammar_;
    if (begins_call) calls_.push_back(call_after(next, *found));
    current_.tail = std::move(tail);
    if (begins_call)
      current_ = {.where = calls_.back()->is_complete() ? place::text : place::call, .reasoned = current_.reasoned};
    else if (found && !opens_call(*found))
      begin_reasoning();
    return begins_call;
  }

  /// The guide of a call that begins with the last tokens, of which this one completes its opening.
  std::unique_ptr<guide> call_after(token last, const text_trigger::match& found) const {
    const auto& openings = *marks_->openings;
    std::vector<token> spelled_by = {last};
    const auto wanted = openings.text(found.which).size() + found.after;
    auto bytes = openings.spelling(last).size();
    for (auto previous = history_.rbegin(); bytes < wanted; ++previous) {
      spelled_by.push_back(previous->accepted);
      bytes += openings.spelling(previous->accepted).size();
    }
    std::ranges::reverse(spelled_by);
    auto first = spelled_by.begin();
    std::string_view begun;
    if (bytes > wanted) begun = openings.spelling(*first++).substr(bytes - wanted);
    auto call = grammar_->start(begun);
    for (; first != spelled_by.end(); ++first) call->accept(*first);
    return call;
  }

  std::shared_ptr<const response_marks> marks_;
  std::optional<int> budget_;
  bool forbids_calls_;
  std::shared_ptr<const compiled_grammar> grammar_;
  std::unique_ptr<guide> answer_;
  state current_;
  std::vector<state> history_;                 // each accepted token
  std::vector<std::unique_ptr<guide>> calls_;  // those that have begun
};

}  // namespace

std::unique_ptr<guide> guide_response(std::shared_ptr<const response_marks> marks, response_rules rules) {
  return std::make_unique<response_guide>(std::move(marks), std::move(rules));
}

}  // namespace cogen::grammar
