#include "answers/grammar/compiler.hpp"

#include "answers/grammar/ebnf.hpp"
#include "answers/grammar/ebnf_check.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_ebnf.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

using format_kind = response_format::kind;

/// Of what the grammars of all tenants have in common, such as the strings of JSON.
constexpr std::size_t max_common_bytes = std::size_t{64} << 20;

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
auto compiler::bounded(work_watch* watch, const Call& call) const {
  const bounded_work work({.work = "compiling the response format",
                           .time = options_.limits.time,
                           .bytes = watch && watch->bounds_memory() ? std::nullopt : std::optional(max_growth),
                           .watch = watch});
  try {
    return call();
  } catch (const work_error& error) {
    throw grammar_error(error.what());
  }
}

std::shared_ptr<const compiled_grammar> compiler::compile(const response_format& format, const format_client& client) {
  return find_or_compile(key_of(format), [&] { return ebnf_of(format, options_.limits); },
                         {.patterns = format.type != format_kind::grammar, .client = client});
}

std::shared_ptr<const compiled_grammar> compiler::compile_rules(const writer& write, const format_client& client) {
  return compile_rules(bounded(client.watch, write), client);
}

std::shared_ptr<const compiled_grammar> compiler::compile_rules(const schema_grammar& rules,
                                                                const format_client& client) {
  return find_or_compile("rules " + rules.ebnf, [&] { return rules; }, {.patterns = true, .client = client});
}

bool compiler::knows(const response_format& format, std::uint64_t tenant) {
  const std::lock_guard lock(mutex_);
  const auto own = place_of(tenant);
  return own != tenants_.end() && own->formats.find(key_of(format));
}

std::shared_ptr<const compiled_grammar> compiler::find_or_compile(std::string key, const writer& write,
                                                                  const way& options) {
  backend_of_vocabulary();
  std::unique_lock lock(mutex_);
  auto& known = formats_of(options.client.tenant);
  if (auto grammar = known.find(key)) return grammar;
  const auto with = known.compiler();
  lock.unlock();
  auto grammar = compile_new(*with, write, options);
  lock.lock();
  if (const auto own = place_of(options.client.tenant); own != tenants_.end())
    own->formats.keep(std::move(key), grammar);
  return grammar;
}

std::shared_ptr<const compiled_grammar> compiler::compile_new(backend& with, const writer& write,
                                                              const way& options) const {
  const auto& limits = options_.limits;
  return bounded(options.client.watch, [&] {
    auto rules = write();
    check_ebnf(rules.ebnf, {.states = limits.states, .patterns = options.patterns});
    auto grammar = with.compile(rules.ebnf, std::move(rules.distinct));
    grammar->set_loosened(std::move(rules.loosened));
    if (grammar->bytes() > limits.bytes)
      throw grammar_error("the compiled grammar takes " + std::to_string(grammar->bytes()) + " bytes; the limit is " +
                          std::to_string(limits.bytes));
    return std::shared_ptr<const compiled_grammar>(std::move(grammar));
  });
}

const backend& compiler::backend_of_vocabulary() {
  if (!tokens_) throw grammar_error("a response format needs a tokenizer, and this engine has none");
  std::call_once(made_backend_, [this] { backend_ = make_backend(tokens_); });
  return *backend_;
}

std::unique_ptr<backend> compiler::new_backend() const { return backend_->separate(max_common_bytes / shares_); }

std::list<compiler::tenant_formats>::iterator compiler::place_of(std::uint64_t tenant) {
  return std::ranges::find(tenants_, tenant, &tenant_formats::tenant);
}

format_cache& compiler::formats_of(std::uint64_t tenant) {
  const auto found = place_of(tenant);
  if (found == tenants_.end())
    add_tenant(tenant);
  else
    tenants_.splice(tenants_.begin(), tenants_, found);
  return tenants_.front().formats;
}

/// A tenant's share is halved when there are twice as many, so that what it is depends on their number alone.
void compiler::add_tenant(std::uint64_t tenant) {
  if (tenants_.size() == max_tenants) tenants_.pop_back();
  if (tenants_.size() == shares_) {
    shares_ *= 2;
    for (auto& each : tenants_) each.formats.limit(new_backend(), options_.cache_bytes / shares_);
  }
  tenants_.push_front({tenant, format_cache(new_backend(), options_.cache_bytes / shares_)});
}

std::size_t compiler::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& each : tenants_) bytes += each.formats.bytes();
  return bytes;
}

}  // namespace cogen::grammar
