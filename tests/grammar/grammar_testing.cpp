#include "grammar_testing.hpp"

#include "text/small_tokenizer.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

namespace cogen::grammar {

std::shared_ptr<const text::tokenizer> shared_vocabulary() {
  static const auto tokens = [] {
    const merge_list merges = {{"{", "\""},    {"\"", ":"},  {"\"", ","},    {"\"", "}"},  {"1", "2"}, {"a", "b"},
                               {"ab", "c"},    {"t", "r"},   {"tr", "u"},    {"tru", "e"}, {"Ġ", "{"}, {"Ġ", "\""},
                               {"\":", "Ġ\""}, {"]", "}"},   {"Ã", "©"},     {"-", "1"},   {".", "5"}, {"n", "a"},
                               {"na", "m"},    {"nam", "e"}, {"\"", "name"}, {"Ċ", "Ġ"}};
    auto spec = small_spec(merges, {"<s>", "<end>"});
    spec.eos = {static_cast<token>(spec.vocabulary.size()) + 1};
    return std::make_shared<const text::tokenizer>(std::move(spec));
  }();
  return tokens;
}

const text::tokenizer& small_vocabulary() { return *shared_vocabulary(); }

token end_token() { return small_vocabulary().eos().front(); }

std::shared_ptr<const compiled_grammar> compiled(const response_format& format) {
  static compiler shared(shared_vocabulary());
  return shared.compile(format);
}

bool accepts(const compiled_grammar& grammar, std::string_view text) {
  const auto place = grammar.start();
  try {
    accept_bytes(*place, text);
  } catch (const std::invalid_argument&) {
    return false;
  }
  return place->is_complete();
}

bool accepts(const response_format& format, std::string_view text) { return accepts(*compiled(format), text); }

void check(const char* schema, std::initializer_list<const char*> accepted,
           std::initializer_list<const char*> rejected) {
  BOOST_TEST_CONTEXT(schema) {
    const auto grammar = compiled(json_schema(schema));
    for (const char* text : accepted) BOOST_TEST(accepts(*grammar, text), text);
    for (const char* text : rejected) BOOST_TEST(!accepts(*grammar, text), text);
  }
}

std::vector<token> allowed(guide& place, const text::tokenizer& tokens) {
  const auto size = tokens.size();
  std::vector<std::uint64_t> words((size + 63) / 64);
  const bool limited = place.allow(words);
  std::vector<token> ids;
  for (std::size_t id = 0; id < size; ++id)
    if (!limited || (words[id / 64] >> id % 64 & 1)) ids.push_back(static_cast<token>(id));
  return ids;
}

std::vector<token> allowed_by_trying(const guide& place, const text::tokenizer& tokens) {
  std::vector<token> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const auto trial = place.clone();
    try {
      trial->accept(static_cast<token>(id));
      ids.push_back(static_cast<token>(id));
    } catch (const std::invalid_argument&) {
    }
  }
  return ids;
}

void accept_bytes(guide& place, std::string_view text) {
  for (const char byte : text) place.accept(static_cast<unsigned char>(byte));
}

std::string refusal(const response_format& format, const structured_output_options& options) {
  try {
    compiler(shared_vocabulary(), options).compile(format);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

void check_refusal(const response_format& format, std::string_view named) {
  const auto said = refusal(format);
  BOOST_TEST(said.find(named) != std::string::npos, "\"" << said << "\" does not name " << named);
  BOOST_TEST(said.size() < 500u, said);
  BOOST_TEST(std::ranges::count(said, '\n') == 0, said);
  BOOST_TEST(said.find("JSON schema") == said.rfind("JSON schema"), said);
}

}  // namespace cogen::grammar
