#include "formats/text/tokenizer_steps_json.hpp"

#include "formats/text/base64.hpp"
#include "formats/text/bert_steps.hpp"
#include "formats/text/scripts.hpp"
#include "formats/text/spec_check.hpp"
#include "formats/text/split_patterns.hpp"
#include "formats/text/token_decoder.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cogen::text {
namespace {

struct matcher {
  std::string pattern;
  bool is_regex;
};

matcher matcher_of(const json::field& pattern) {
  if (auto regex = pattern.find("Regex")) return {regex->string(), true};
  if (auto string = pattern.find("String")) return {string->string(), false};
  pattern.refuse("must have a Regex or a String");
}

template <typename Value>
struct name_of {
  std::string_view name;
  Value value;
};

/// The value with the field's name; `names` are those that are known elsewhere.
template <typename Value>
Value named(const json::field& field, std::initializer_list<name_of<Value>> known, std::string names = {}) {
  auto name = field.string();
  for (const auto& candidate : known) {
    if (candidate.name == name) return candidate.value;
    names.append(names.empty() ? "" : ", ").append(candidate.name);
  }
  field.refuse("cogen knows " + names);
}

replace_step replace_of(const json::field& step) {
  auto [pattern, is_regex] = matcher_of(step.at("pattern"));
  return {pattern, is_regex, step.at("content").string()};
}

split_behavior behavior_of(const json::field& field) {
  using enum split_behavior;
  return named<split_behavior>(field, {{"Removed", removed},
                                       {"Isolated", isolated},
                                       {"MergedWithPrevious", merged_with_previous},
                                       {"MergedWithNext", merged_with_next},
                                       {"Contiguous", contiguous}});
}

std::string replacement_of(const json::field& step) {
  auto replacement = step.text("replacement", lower_block);
  if (replacement.empty()) step.at("replacement").refuse("it is one character");
  return replacement;
}

metaspace_step metaspace_of(const json::field& step) {
  using enum metaspace_step::prepend_scheme;
  metaspace_step metaspace;
  metaspace.replacement = replacement_of(step);
  metaspace.split = step.flag("split", true);
  if (auto scheme = step.find("prepend_scheme")) {
    metaspace.prepend =
        named<metaspace_step::prepend_scheme>(*scheme, {{"always", always}, {"first", first}, {"never", never}});
  } else if (!step.flag("add_prefix_space", true)) {
    metaspace.prepend = never;
  }
  return metaspace;
}

std::string bytes_of(const json::field& base64) {
  auto bytes = decoded_base64(base64.string());
  if (!bytes) base64.refuse("it is not Base64");
  return *bytes;
}

std::vector<normalizer_step> bert_steps(const json::field& step) {
  const bool lowercase = step.flag("lowercase", true);
  return bert_normalizer({.clean = step.flag("clean_text", true),
                          .ideographs = step.flag("handle_chinese_chars", true),
                          .strip_accents = step.flag("strip_accents", lowercase),
                          .lowercase = lowercase});
}

template <typename Step>
void append(const std::vector<Step>& more, std::vector<Step>& steps) {
  steps.insert(steps.end(), more.begin(), more.end());
}

void append_normalizer_steps(const json::field& step, std::vector<normalizer_step>& steps) {
  require_count(max_steps, steps.size(), "normalizers");
  auto type = step.at("type").string();
  if (type == "Sequence") {
    auto inner = step.at("normalizers");
    for (std::size_t i = 0; i < inner.array().size(); ++i) append_normalizer_steps(inner.element(i), steps);
  } else if (type == "Replace") {
    steps.emplace_back(replace_of(step));
  } else if (type == "Prepend") {
    steps.emplace_back(prepend_step{step.at("prepend").string()});
  } else if (type == "Strip") {
    steps.emplace_back(strip_step{step.flag("strip_left", true), step.flag("strip_right", true)});
  } else if (type == "BertNormalizer") {
    append(bert_steps(step), steps);
  } else if (type == "Precompiled") {
    steps.emplace_back(charsmap_step{bytes_of(step.at("precompiled_charsmap")), charsmap_step::matching::grapheme});
  } else {
    using enum unicode_form;
    steps.emplace_back(named<normalizer_step>(step.at("type"),
                                              {{"NFC", nfc},
                                               {"NFD", nfd},
                                               {"NFKC", nfkc},
                                               {"NFKD", nfkd},
                                               {"Lowercase", lowercase},
                                               {"StripAccents", character_filter::remove_marks}},
                                              "Sequence, Replace, Prepend, Strip, BertNormalizer, Precompiled"));
  }
}

void append_pre_tokenizer_steps(const json::field& step, std::vector<pre_tokenizer_step>& steps) {
  require_count(max_steps, steps.size(), "pre-tokenizers");
  using enum split_behavior;
  auto type = step.at("type").string();
  if (type == "Sequence") {
    auto inner = step.at("pretokenizers");
    for (std::size_t i = 0; i < inner.array().size(); ++i) append_pre_tokenizer_steps(inner.element(i), steps);
  } else if (type == "Split") {
    auto [pattern, is_regex] = matcher_of(step.at("pattern"));
    steps.emplace_back(split_step{pattern, is_regex, behavior_of(step.at("behavior")), step.flag("invert", false)});
  } else if (type == "Digits") {
    steps.emplace_back(digits_step{step.flag("individual_digits", false)});
  } else if (type == "ByteLevel") {
    steps.emplace_back(byte_level_step{step.flag("add_prefix_space", true), step.flag("use_regex", true)});
  } else if (type == "Metaspace") {
    steps.emplace_back(metaspace_of(step));
  } else if (type == "BertPreTokenizer") {
    append(bert_pre_tokenizer(), steps);
  } else if (type == "Punctuation") {
    auto given = step.find("behavior");
    steps.emplace_back(split_step{std::string(punctuation_pattern), true, given ? behavior_of(*given) : isolated});
  } else if (type == "WhitespaceSplit") {
    steps.emplace_back(split_step{"\\s+", true, removed});
  } else if (type == "Whitespace") {
    steps.emplace_back(split_step{std::string(words_pattern), true, removed, true});
  } else if (type == "UnicodeScripts") {
    steps.emplace_back(split_step{scripts_pattern(), true, removed, true});
  } else {
    step.at("type").refuse(
        "cogen knows Sequence, Split, Digits, ByteLevel, Metaspace, BertPreTokenizer, Punctuation, "
        "Whitespace, WhitespaceSplit and UnicodeScripts");
  }
}

void require_one_space_at_the_left(const json::field& step) {
  auto at_most = [&](std::string_view key, std::int64_t most) {
    auto count = step.find(key);
    if (count && (count->integer() < 0 || count->integer() > most)) {
      count->refuse("cogen knows a strip of one space at the left");
    }
  };
  if (step.text("content", " ") != " ") step.at("content").refuse("cogen knows a strip of one space at the left");
  at_most("start", 1);
  at_most("stop", 0);
}

void read_decoder(const json::field& step, decoding_steps& decoding) {
  require_count(max_steps, decoding.steps.size(), "decoders");
  auto type = step.at("type").string();
  if (type == "Sequence") {
    auto inner = step.at("decoders");
    for (std::size_t i = 0; i < inner.array().size(); ++i) read_decoder(inner.element(i), decoding);
  } else if (type == "ByteLevel") {
    decoding.steps.emplace_back(byte_level_decoding{});
  } else if (type == "ByteFallback") {
    decoding.steps.emplace_back(byte_fallback_decoding{});
  } else if (type == "Replace") {
    decoding.steps.emplace_back(replace_of(step));
  } else if (type == "Metaspace") {
    const bool prepends = step.text("prepend_scheme", "always") != "never" && step.flag("add_prefix_space", true);
    decoding.steps.emplace_back(metaspace_decoding{replacement_of(step), prepends});
  } else if (type == "WordPiece") {
    decoding.steps.emplace_back(word_piece_decoding{step.text("prefix", "##"), step.flag("cleanup", true)});
  } else if (type == "Strip") {
    require_one_space_at_the_left(step);
    decoding.strip_first_space = step.at("start").integer() == 1;
  } else if (type != "Fuse") {
    step.at("type").refuse(
        "cogen knows Sequence, ByteLevel, ByteFallback, Replace, Metaspace, WordPiece, Strip and Fuse");
  }
}

void append(const std::vector<token>& more, std::vector<token>& tokens, const char* name) {
  require_count(max_surrounding_tokens, tokens.size() + more.size(), name);
  tokens.insert(tokens.end(), more.begin(), more.end());
}

std::vector<token> ids_of_special(const json::field& special_tokens, const std::string& name) {
  std::vector<token> ids;
  auto listed = special_tokens.at(name).at("ids");
  require_count(max_surrounding_tokens, listed.array().size(), "ids of a special token");
  for (std::size_t i = 0; i < listed.array().size(); ++i) ids.push_back(token_id(listed.element(i)));
  return ids;
}

token id_of_pair(const json::field& pair) {
  if (pair.array().size() != 2) pair.refuse("it is a spelling and an id");
  return token_id(pair.element(1));
}

/// What stands between the texts of a pair.
std::vector<token> between_pair_of_template(const json::field& step) {
  std::vector<token> between;
  const auto parts = step.find("pair");
  int texts = 0;
  for (std::size_t i = 0; parts && i < parts->array().size(); ++i) {
    const auto special = parts->element(i).find("SpecialToken");
    if (!special) {
      ++texts;
    } else if (texts == 1) {
      append(ids_of_special(step.at("special_tokens"), special->at("id").string()), between, between_texts);
    }
  }
  return between;
}

surrounding_tokens surrounding_of_template(const json::field& step) {
  surrounding_tokens around;
  bool before_text = true;
  auto parts = step.at("single");
  for (std::size_t i = 0; i < parts.array().size(); ++i) {
    auto part = parts.element(i);
    if (auto special = part.find("SpecialToken")) {
      append(ids_of_special(step.at("special_tokens"), special->at("id").string()),
             before_text ? around.prefix : around.suffix, before_text ? before_a_text : behind_a_text);
    } else {
      part.at("Sequence");
      before_text = false;
    }
  }
  around.between_pair = between_pair_of_template(step);
  return around;
}

}  // namespace

token token_id(const json::field& field) {
  auto id = field.integer();
  if (id < 0 || id >= static_cast<std::int64_t>(max_vocabulary)) {
    field.refuse("a token id lies between 0 and " + std::to_string(max_vocabulary - 1));
  }
  return static_cast<token>(id);
}

std::vector<normalizer_step> normalizer_steps(const json::field& section) {
  std::vector<normalizer_step> steps;
  append_normalizer_steps(section, steps);
  return steps;
}

std::vector<pre_tokenizer_step> pre_tokenizer_steps(const json::field& section) {
  std::vector<pre_tokenizer_step> steps;
  append_pre_tokenizer_steps(section, steps);
  return steps;
}

decoding_steps decoding_of(const json::field& section) {
  decoding_steps decoding;
  read_decoder(section, decoding);
  return decoding;
}

surrounding_tokens surrounding_of(const json::field& section) {
  auto type = section.at("type").string();
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return surrounding_of_template(section);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    const auto cls = id_of_pair(section.at("cls")), separator = id_of_pair(section.at("sep"));
    return {{cls}, {separator}, std::vector<token>(type == "BertProcessing" ? 1 : 2, separator)};
  }
  if (type != "Sequence") {
    section.at("type").refuse(
        "cogen knows ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing and Sequence");
  }
  surrounding_tokens around;
  auto inner = section.at("processors");
  for (std::size_t i = 0; i < inner.array().size(); ++i) {
    auto [prefix, suffix, between_pair] = surrounding_of(inner.element(i));
    append(around.prefix, prefix, before_a_text);
    around.prefix = std::move(prefix);
    append(suffix, around.suffix, behind_a_text);
    append(between_pair, around.between_pair, between_texts);
  }
  return around;
}

}  // namespace cogen::text
