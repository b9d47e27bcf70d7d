// Tokenizers whose steps and vocabularies are chosen by bytes from anywhere.
#include "formats/text/text_budget.hpp"
#include "formats/text/utf8.hpp"
#include "small_tokenizer.hpp"
#include "untrusted.hpp"

#include <cogen/text/tokenizer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cogen;
using namespace cogen::text;

/// Takes choices and short texts from the front of the bytes.
class choices {
 public:
  explicit choices(std::string_view bytes) : rest_(bytes) {}

  std::size_t number(std::size_t count) { return static_cast<unsigned char>(next()) % count; }
  bool flag() { return number(2) == 1; }
  std::string text() {
    const auto size = std::min(number(32), rest_.size());
    const auto taken = repaired_utf8(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  char next() {
    if (rest_.empty()) return 0;
    const char first = rest_[0];
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
};

replace_step replacing(choices& input) {
  const bool is_regex = input.flag();
  auto pattern = input.text();
  return {.pattern = std::move(pattern), .is_regex = is_regex, .content = input.text()};
}

normalizer_step normalizing(choices& input) {
  constexpr unicode_form forms[] = {unicode_form::nfc, unicode_form::nfd, unicode_form::nfkc, unicode_form::nfkd,
                                    unicode_form::lowercase};
  constexpr character_filter filters[] = {character_filter::clean, character_filter::space_ideographs,
                                          character_filter::remove_nonspacing_marks, character_filter::remove_marks};
  switch (input.number(5)) {
    case 0:
      return forms[input.number(std::size(forms))];
    case 1:
      return filters[input.number(std::size(filters))];
    case 2:
      return replacing(input);
    case 3:
      return prepend_step{input.text()};
    default:
      return strip_step{input.flag(), input.flag()};
  }
}

pre_tokenizer_step splitting(choices& input) {
  using enum split_behavior;
  using number_kind = digit_groups_step::number_kind;
  constexpr split_behavior behaviors[] = {removed, isolated, merged_with_previous, merged_with_next, contiguous};
  constexpr number_kind numbers[] = {number_kind::any_digits, number_kind::decimals, number_kind::whole_words};
  using enum metaspace_step::prepend_scheme;
  constexpr metaspace_step::prepend_scheme schemes[] = {always, first, never};
  switch (input.number(5)) {
    case 0: {
      const bool is_regex = input.flag();
      const auto behavior = behaviors[input.number(std::size(behaviors))];
      return split_step{input.text(), is_regex, behavior, input.flag()};
    }
    case 1:
      return digits_step{input.flag()};
    case 2:
      return digit_groups_step{numbers[input.number(std::size(numbers))]};
    case 3:
      return byte_level_step{input.flag(), input.flag()};
    default: {
      const auto scheme = schemes[input.number(std::size(schemes))];
      auto spelled = input.text();
      return metaspace_step{spelled.empty() ? " " : spelled, scheme, input.flag()};
    }
  }
}

decoder_step decoding(choices& input) {
  switch (input.number(5)) {
    case 0:
      return byte_level_decoding{};
    case 1:
      return byte_fallback_decoding{};
    case 2:
      return metaspace_decoding{"_", input.flag()};
    case 3:
      return word_piece_decoding{input.text(), input.flag()};
    default:
      return replacing(input);
  }
}

template <typename Step, typename Make>
std::vector<Step> steps_of(choices& input, Make make) {
  std::vector<Step> steps;
  for (auto count = input.number(6); count > 0; --count) steps.push_back(make(input));
  return steps;
}

tokenizer_spec spec_of(choices& input) {
  constexpr encoding_model models[] = {encoding_model::byte_pair, encoding_model::byte_pair_by_score,
                                       encoding_model::unigram, encoding_model::word_piece};
  auto spec = small_spec({{"a", "b"}, {"ab", "a"}});
  spec.model = models[input.number(std::size(models))];
  for (auto count = input.number(4); count > 0; --count) spec.vocabulary.push_back(input.text());
  for (std::size_t id = 0; id < spec.vocabulary.size(); ++id) spec.scores.push_back(-static_cast<double>(id % 7));
  for (auto count = input.number(4); count > 0; --count) {
    spec.added.push_back({.id = static_cast<token>(spec.vocabulary.size() + count),
                          .content = input.text(),
                          .special = input.flag(),
                          .lstrip = input.flag(),
                          .rstrip = input.flag(),
                          .normalized = input.flag(),
                          .single_word = input.flag()});
  }
  if (input.flag()) spec.unknown = 0;
  spec.byte_fallback = input.flag();
  spec.normalizer = steps_of<normalizer_step>(input, normalizing);
  spec.pre_tokenizer = steps_of<pre_tokenizer_step>(input, splitting);
  spec.decoder = steps_of<decoder_step>(input, decoding);
  return spec;
}

void expect(bool holds, const char* message) {
  if (!holds) throw std::logic_error(message);
}

void use(const tokenizer& tokens, std::string_view text) {
  const auto ids = tokens.encode(text, {.add_special = true, .parse_special = true});
  const auto repaired = repaired_utf8(text);
  expect(ids.size() <= text_budget::bytes_for_each * repaired.size() + text_budget::free_bytes, "too many tokens");
  expect(is_utf8(tokens.decode(ids)), "a decoded text is not valid UTF-8");
}

template <typename Action>
void swallowing_refusals(Action action) {
  try {
    action();
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {
  }
}

/// The lines of a text, without its end.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    lines.emplace_back(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

void set_flags(gguf_vocabulary& vocabulary, int flags) {
  if (flags <= 0) return;
  vocabulary.add_bos = (flags & 1) != 0;
  vocabulary.add_space_prefix = (flags & 2) != 0;
  vocabulary.remove_extra_whitespaces = (flags & 4) != 0;
  vocabulary.lowercase = (flags & 8) != 0;
}

/// What a line says after its first letter, by that letter.
void add_line(gguf_vocabulary& vocabulary, const std::string& field, std::string value) {
  if (field == "m")
    vocabulary.model = std::move(value);
  else if (field == "p")
    vocabulary.pre = std::move(value);
  else if (field == "g")
    vocabulary.merges.push_back(std::move(value));
  else if (field == "c")
    vocabulary.precompiled_charsmap = std::move(value);
  else if (field == "j")
    vocabulary.chat_template = std::move(value);
  else if (field == "y")
    vocabulary.token_types.push_back(std::atoi(value.c_str()));
  else if (field == "s")
    vocabulary.scores.push_back(std::strtof(value.c_str(), nullptr));
  else if (field == "b")
    vocabulary.bos = std::atoi(value.c_str());
  else if (field == "e")
    vocabulary.eos = std::atoi(value.c_str());
  else if (field == "u")
    vocabulary.unknown = std::atoi(value.c_str());
  else if (field == "f")
    set_flags(vocabulary, std::atoi(value.c_str()));
  else
    vocabulary.tokens.push_back(std::move(value));
}

gguf_vocabulary vocabulary_of(std::string_view bytes) {
  gguf_vocabulary vocabulary{.model = "gpt2", .pre = "default"};
  for (auto& line : lines_of(bytes))
    add_line(vocabulary, line.substr(0, 1), line.substr(std::min<std::size_t>(line.size(), 1)));
  return vocabulary;
}

}  // namespace

void use_as_steps(std::string_view bytes) {
  choices input(bytes);
  swallowing_refusals([&] {
    const tokenizer tokens(spec_of(input));
    use(tokens, input.rest());
  });
}

void use_as_gguf_vocabulary(std::string_view bytes) {
  const auto vocabulary = vocabulary_of(bytes);
  swallowing_refusals([&] {
    const auto tokens = tokenizer::from_gguf(vocabulary);
    for (auto text : {"a b  c\n123 \u00E9", "<s>\xFF\xC3</s>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"})
      use(tokens, text);
  });
}
