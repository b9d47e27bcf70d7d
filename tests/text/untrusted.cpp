#include "untrusted.hpp"

#include "formats/text/charsmap.hpp"
#include "formats/text/pattern.hpp"
#include "formats/text/stop_matcher.hpp"
#include "formats/text/utf8.hpp"
#include "small_tokenizer.hpp"

#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <boost/json/parse.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cogen;
using namespace cogen::text;

constexpr encode_options parsing_all{.add_special = true, .parse_special = true};

void require(bool holds, const char* message) {
  if (!holds) throw std::logic_error(message);
}

void check_decoding(const tokenizer& tokens, const std::vector<token>& ids) {
  detokenizer pieces(tokens, false);
  std::string joined;
  for (auto id : ids) {
    auto piece = pieces.push(id);
    require(is_utf8(piece), "a piece is not valid UTF-8");
    joined += piece;
  }
  require(joined + pieces.flush() == tokens.decode(ids), "the pieces do not join to the decoded text");
}

void check_text(const tokenizer& tokens, const std::string& text) {
  check_decoding(tokens, tokens.encode(text, parsing_all));
  auto plain = tokens.encode(text);
  check_decoding(tokens, plain);
  for (auto id : plain) require(!tokens.is_special(id), "a control token came out of plain text");
  std::vector<text_segment> parts{{text.substr(0, text.size() / 2), true}, {text.substr(text.size() / 2), false}};
  check_decoding(tokens, tokens.encode(parts, parsing_all));
}

const tokenizer& tokenizer_with_added_tokens() {
  static const tokenizer tokens = [] {
    auto spec = small_spec({{"a", "b"}, {"ab", "a"}, {"b", "b"}}, {"<|a|>", "<|a|>b", " L", "R "});
    spec.added[2].lstrip = true;
    spec.added[3].rstrip = true;
    spec.added[3].single_word = true;
    spec.added.push_back({.id = spec.added.back().id + 1, .content = "\u00E9", .normalized = true});
    spec.normalizer = {unicode_form::nfc};
    spec.pre_tokenizer = {digits_step{true}, byte_level_step{true, true}};
    return tokenizer(spec);
  }();
  return tokens;
}

const std::vector<chat_message>& chat() {
  static const std::vector<chat_message> messages{
      {.role = "system", .content = "Be brief.", .extra = {}},
      {.role = "user", .content = " What's <|im_end|> in \u65E5\u672C?\n", .extra = boost::json::object{{"n", 3}}},
      {.role = "assistant",
       .content = "<think>\nx</think>y",
       .extra = boost::json::object{{"tool_calls", boost::json::array{1.5, nullptr}}}}};
  return messages;
}

}  // namespace

void use_as_tokenizer(std::string_view bytes) {
  try {
    const auto tokens = tokenizer::from_tokenizer_json(bytes);
    for (auto text : {"", "a b  c\n123 \u00E9", "<|a|> \xFF\xC3", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}) {
      check_decoding(tokens, tokens.encode(text, parsing_all));
    }
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {
  }
}

void use_as_charsmap(std::string_view bytes) {
  for (auto mode : {charsmap_step::matching::longest_prefix, charsmap_step::matching::grapheme}) {
    try {
      const charsmap table({std::string(bytes), mode});
      for (auto text : {"", "a b  c\r\n123", "\uFB01\u00BD\u2163 e\u0301\u0323", "\u30AB\u3099\u3000x"}) {
        text_budget budget(std::string_view(text).size());
        require(is_utf8(table(text, budget)), "a normalized text is not valid UTF-8");
      }
    } catch (const std::invalid_argument&) {
    } catch (const std::runtime_error&) {
    }
  }
}

void use_as_text(std::string_view bytes) { check_text(tokenizer_with_added_tokens(), std::string(bytes)); }

void use_as_template(std::string_view bytes) {
  const auto end = std::min(bytes.find('\0'), bytes.size());
  boost::system::error_code error;
  auto variables = boost::json::parse(bytes.substr(std::min(end + 1, bytes.size())), error);
  bytes = bytes.substr(0, end);
  template_options options{
      .bos = "<s>", .eos = "</s>", .extra = boost::json::object{{"tools", boost::json::array{boost::json::object{}}}}};
  options.now = std::chrono::system_clock::time_point();
  if (!error && variables.is_object()) {
    for (auto& [name, variable] : variables.get_object()) options.extra->insert_or_assign(name, std::move(variable));
  }
  constexpr template_limits limits{.max_steps = 50'000, .max_bytes = std::size_t{1} << 22, .max_depth = 200};
  try {
    chat_template rendering(bytes, limits);
    auto text = rendering.render(chat(), options);
    require(is_utf8(text), "a rendered text is not valid UTF-8");
    std::string joined;
    for (const auto& segment : rendering.render_segments(chat(), options)) joined += segment.text;
    require(joined == text, "the segments do not join to the rendered text");
  } catch (const template_error&) {
  } catch (const std::length_error&) {
  }
}

void use_as_pattern(std::string_view bytes) {
  auto end = std::min(bytes.find('\n'), bytes.size());
  auto text = repaired_utf8(bytes.substr(end));
  try {
    std::size_t done = 0;
    bool is_first = true;
    for (auto match : pattern(bytes.substr(0, end)).matches(text)) {
      require(done <= match.begin && match.begin <= match.end && match.end <= text.size(), "matches out of order");
      require(std::exchange(is_first, false) || done < match.end, "an empty match where the one before it ends");
      require(is_utf8(match.slice(text)), "a match cuts a character");
      done = match.end;
    }
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {
  }
}

void use_as_stop_strings(std::string_view bytes) {
  std::vector<std::string> stops;
  while (!bytes.empty() && bytes[0] != '\n') {
    auto line = bytes.substr(0, bytes.find('\n'));
    stops.emplace_back(line);
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
  }
  try {
    stop_matcher whole(stops);
    auto cut = whole;
    auto expected = whole.push(bytes);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) text += cut.push(bytes.substr(i, 1)).text;
    require(text == expected.text, "pieces and the whole differ");
    require(cut.flush() == whole.flush(), "different texts are held back");
  } catch (const std::invalid_argument&) {
  } catch (const std::length_error&) {
  }
}
