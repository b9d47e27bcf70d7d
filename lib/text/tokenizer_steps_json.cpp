#include "text/tokenizer_steps_json.hpp"

#include "text/spec_check.hpp"
#include "text/token_bytes.hpp"

#include <array>
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

template <typename Value, std::size_t N>
Value named(const json::field& field, const std::array<std::pair<std::string_view, Value>, N>& known) {
  auto name = field.string();
  std::string names;
  for (const auto& [candidate, value] : known) {
    if (candidate == name) return value;
    names.append(names.empty() ? "" : ", ").append(candidate);
  }
  field.refuse("cogen knows " + names);
}

split_behavior behavior_of(const json::field& field) {
  using enum split_behavior;
  return named(field,
               std::array<std::pair<std::string_view, split_behavior>, 5>{{{"Removed", removed},
                                                                           {"Isolated", isolated},
                                                                           {"MergedWithPrevious", merged_with_previous},
                                                                           {"MergedWithNext", merged_with_next},
                                                                           {"Contiguous", contiguous}}});
}

metaspace_step metaspace_of(const json::field& step) {
  using enum metaspace_step::prepend_scheme;
  metaspace_step metaspace;
  metaspace.replacement = step.text("replacement", lower_block);
  metaspace.split = step.flag("split", true);
  if (auto scheme = step.find("prepend_scheme")) {
    metaspace.prepend = named(*scheme, std::array<std::pair<std::string_view, metaspace_step::prepend_scheme>, 3>{
                                           {{"always", always}, {"first", first}, {"never", never}}});
  } else if (!step.flag("add_prefix_space", true)) {
    metaspace.prepend = never;
  }
  return metaspace;
}

void append_normalizer_steps(const json::field& step, std::vector<normalizer_step>& steps) {
  auto type = step.at("type").string();
  if (type == "Sequence") {
    auto inner = step.at("normalizers");
    for (std::size_t i = 0; i < inner.array().size(); ++i) append_normalizer_steps(inner.element(i), steps);
  } else if (type == "Replace") {
    auto [pattern, is_regex] = matcher_of(step.at("pattern"));
    steps.emplace_back(replace_step{pattern, is_regex, step.at("content").string()});
  } else if (type == "Prepend") {
    steps.emplace_back(prepend_step{step.at("prepend").string()});
  } else if (type == "Strip") {
    steps.emplace_back(strip_step{step.flag("strip_left", true), step.flag("strip_right", true)});
  } else {
    using enum unicode_form;
    steps.emplace_back(named(
        step.at("type"), std::array<std::pair<std::string_view, unicode_form>, 5>{
                             {{"NFC", nfc}, {"NFD", nfd}, {"NFKC", nfkc}, {"NFKD", nfkd}, {"Lowercase", lowercase}}}));
  }
}

void append_pre_tokenizer_steps(const json::field& step, std::vector<pre_tokenizer_step>& steps) {
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
  } else {
    step.at("type").refuse("cogen knows Sequence, Split, Digits, ByteLevel and Metaspace");
  }
}

void read_decoder(const json::field& step, decoder_kind& kind) {
  auto type = step.at("type").string();
  if (type == "Sequence") {
    auto inner = step.at("decoders");
    for (std::size_t i = 0; i < inner.array().size(); ++i) read_decoder(inner.element(i), kind);
  } else if (type == "ByteLevel") {
    kind.spelled = spelling::byte_level;
  } else if (type == "ByteFallback" || type == "Replace") {
    kind.spelled = spelling::sentence_piece;
  } else if (type == "Metaspace") {
    kind.spelled = spelling::sentence_piece;
    kind.strip_first_space = step.text("prepend_scheme", "always") != "never" && step.flag("add_prefix_space", true);
  } else if (type == "Strip") {
    kind.strip_first_space = true;
  } else if (type != "Fuse") {
    step.at("type").refuse("cogen knows Sequence, ByteLevel, ByteFallback, Replace, Metaspace, Strip and Fuse");
  }
}

std::vector<token> ids_of_special(const json::field& special_tokens, const std::string& name) {
  std::vector<token> ids;
  auto listed = special_tokens.at(name).at("ids");
  for (std::size_t i = 0; i < listed.array().size(); ++i) ids.push_back(token_id(listed.element(i)));
  return ids;
}

surrounding_tokens surrounding_of_template(const json::field& step) {
  surrounding_tokens around;
  bool before_text = true;
  auto parts = step.at("single");
  for (std::size_t i = 0; i < parts.array().size(); ++i) {
    auto part = parts.element(i);
    if (auto special = part.find("SpecialToken")) {
      auto ids = ids_of_special(step.at("special_tokens"), special->at("id").string());
      auto& side = before_text ? around.prefix : around.suffix;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      part.at("Sequence");
      before_text = false;
    }
  }
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

decoder_kind decoder_of(const json::field& section) {
  decoder_kind kind;
  read_decoder(section, kind);
  return kind;
}

surrounding_tokens surrounding_of(const json::field& section) {
  auto type = section.at("type").string();
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return surrounding_of_template(section);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    return {{token_id(section.at("cls").element(1))}, {token_id(section.at("sep").element(1))}};
  }
  if (type != "Sequence") {
    section.at("type").refuse(
        "cogen knows ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing and Sequence");
  }
  surrounding_tokens around;
  auto inner = section.at("processors");
  for (std::size_t i = 0; i < inner.array().size(); ++i) {
    auto [prefix, suffix] = surrounding_of(inner.element(i));
    around.prefix.insert(around.prefix.begin(), prefix.begin(), prefix.end());
    around.suffix.insert(around.suffix.end(), suffix.begin(), suffix.end());
  }
  return around;
}

}  // namespace cogen::text
