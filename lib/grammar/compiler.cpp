#include "grammar/compiler.hpp"

#include "grammar/bounded_work.hpp"
#include "grammar/ebnf.hpp"
#include "grammar/ebnf_check.hpp"
#include "grammar/grammar_error.hpp"
#include "grammar/regex_ebnf.hpp"
#include "text/utf8.hpp"

#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

using format_kind = response_format::kind;

/// By which the memory of the process may grow while a format is compiled.
constexpr std::size_t max_growth = std::size_t{1} << 30;

/// Tells any two formats apart.
std::string key_of(const response_format& format) {
  auto key = std::to_string(static_cast<int>(format.type)) + (format.strict ? "" : "l") + ":" + format.text;
  for (const auto& each : format.choices) key += std::to_string(each.size()) + ":" + each;
  return key;
}

void check_text(std::string_view text, std::size_t limit) {
  if (text.size() > limit)
    throw grammar_error("a format of " + std::to_string(text.size()) + " bytes exceeds the limit of " +
                        std::to_string(limit));
  if (!text::is_utf8(text)) throw grammar_error("the format is not UTF-8");
}

std::string ebnf_of_choices(const std::vector<std::string>& choices, std::size_t limit) {
  if (choices.empty()) throw grammar_error("a choice of no texts allows nothing");
  std::size_t bytes = 0;
  std::vector<std::string> parts;
  for (const auto& each : choices) {
    check_text(each, limit - bytes);
    bytes += each.size();
    parts.push_back(literal(each));
  }
  return "root ::= " + alternatives(parts) + "\n";
}

std::string ebnf_of_pattern(std::string_view pattern) {
  rule_list rules;
  rules.add("root", ebnf_of(parse_regex(pattern, regex_match::whole), rules));
  return rules.text();
}

schema_grammar ebnf_of(const response_format& format, const compile_limits& limits) {
  check_text(format.text, limits.text_bytes);
  switch (format.type) {
    case format_kind::json_object:
      return ebnf_of_json_schema(R"({"type": "object"})");
    case format_kind::json_schema:
      return ebnf_of_json_schema(format.text, {.schemas = limits.schemas},
                                 format.strict ? schema_mode::strict : schema_mode::loosened);
    case format_kind::regex:
      return {ebnf_of_pattern(format.text)};
    case format_kind::grammar:
      return {format.text};
    case format_kind::choice:
      return {ebnf_of_choices(format.choices, limits.text_bytes)};
  }
  throw grammar_error("the kind of the format is unknown");
}

}  // namespace

compiler::compiler(std::shared_ptr<const text::tokenizer> tokens, structured_output_options options)
    : tokens_(std::move(tokens)), options_(options) {}

template <typename Call>
auto compiler::bounded(const std::atomic<bool>* cancelled, const Call& call) const {
  const bounded_work work({.work = "compiling the response format",
                           .time = options_.limits.time,
                           .bytes = max_growth,
                           .cancelled = cancelled});
  try {
    return call();
  } catch (const work_error& error) {
    throw grammar_error(error.what());
  }
}

std::shared_ptr<const compiled_grammar> compiler::compile(const response_format& format,
                                                          const std::atomic<bool>* cancelled) {
  return find_or_compile(key_of(format), [&] { return ebnf_of(format, options_.limits); },
                         {.patterns = format.type != format_kind::grammar, .cancelled = cancelled});
}

bool compiler::knows(const response_format& format) { return find(key_of(format)) != nullptr; }

std::shared_ptr<const compiled_grammar> compiler::compile_rules(const writer& write,
                                                                const std::atomic<bool>* cancelled) {
  return compile_rules(bounded(cancelled, write), cancelled);
}

std::shared_ptr<const compiled_grammar> compiler::compile_rules(const schema_grammar& rules,
                                                                const std::atomic<bool>* cancelled) {
  return find_or_compile("rules " + rules.ebnf, [&] { return rules; }, {.patterns = true, .cancelled = cancelled});
}

std::shared_ptr<const compiled_grammar> compiler::find_or_compile(std::string key, const writer& write,
                                                                  const way& how) {
  if (auto known = find(key)) return known;
  auto grammar = compile_new(write, how);
  keep(std::move(key), grammar);
  return grammar;
}

std::shared_ptr<const compiled_grammar> compiler::compile_new(const writer& write, const way& how) {
  const auto& limits = options_.limits;
  auto& backend = backend_of_vocabulary();
  return bounded(how.cancelled, [&] {
    auto rules = write();
    check_ebnf(rules.ebnf, {.states = limits.states, .patterns = how.patterns});
    auto grammar = backend.compile(rules.ebnf, std::move(rules.distinct));
    grammar->set_loosened(std::move(rules.loosened));
    if (grammar->bytes() > limits.bytes)
      throw grammar_error("the compiled grammar takes " + std::to_string(grammar->bytes()) + " bytes; the limit is " +
                          std::to_string(limits.bytes));
    return std::shared_ptr<const compiled_grammar>(std::move(grammar));
  });
}

backend& compiler::backend_of_vocabulary() {
  if (!tokens_) throw grammar_error("a response format needs a tokenizer, and this engine has none");
  std::call_once(made_backend_, [this] { backend_ = make_backend(tokens_); });
  return *backend_;
}

std::size_t compiler::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

std::shared_ptr<const compiled_grammar> compiler::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = cached_.find(key);
  if (found == cached_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->grammar;
}

void compiler::keep(std::string key, const std::shared_ptr<const compiled_grammar>& grammar) {
  const std::lock_guard lock(mutex_);
  if (cached_.contains(key)) return;
  recent_.push_front({key, grammar});
  cached_.emplace(std::move(key), recent_.begin());
  cached_bytes_ += grammar->bytes();
  while (cached_bytes_ > options_.cache_bytes && !recent_.empty()) {
    cached_bytes_ -= recent_.back().grammar->bytes();
    cached_.erase(recent_.back().key);
    recent_.pop_back();
  }
}

}  // namespace cogen::grammar
