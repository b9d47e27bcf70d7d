// Reads the tokenizer.json and tokenizer_config.json of Hugging Face.
#include "json/field.hpp"
#include "json/parse.hpp"
#include "text/spec_check.hpp"
#include "text/tokenizer_spec.hpp"
#include "text/tokenizer_steps_json.hpp"

#include <boost/json/monotonic_resource.hpp>

#include <stdexcept>

namespace cogen::text {
namespace {

std::vector<std::string> vocabulary_of(const json::field& vocab) {
  std::vector<std::string> spellings(vocab.object().size());
  for (const auto& [spelling, value] : vocab.object()) {
    json::field field(value, vocab.path() + "." + std::string(spelling));
    auto id = static_cast<std::size_t>(token_id(field));
    if (id >= spellings.size()) spellings.resize(id + 1);
    if (!spellings[id].empty()) field.refuse("\"" + spellings[id] + "\" has that id already");
    spellings[id] = spelling;
  }
  return spellings;
}

std::pair<std::string, std::string> merge_of(const json::field& merge) {
  if (merge.value().is_string()) {
    auto both = merge.string();
    auto space = both.find(' ');
    if (space == std::string::npos) merge.refuse("a merge has two parts with a space between");
    return {both.substr(0, space), both.substr(space + 1)};
  }
  if (merge.array().size() != 2) merge.refuse("a merge has two parts");
  return {merge.element(0).string(), merge.element(1).string()};
}

void refuse_if_given(const json::field& model, std::string_view key) {
  auto found = model.find(key);
  if (found && !found->string().empty()) found->refuse("cogen knows only vocabularies without it");
}

std::optional<token> find_spelling(const std::vector<std::string>& vocabulary, std::string_view spelling) {
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary[id] == spelling) return static_cast<token>(id);
  }
  return std::nullopt;
}

void read_model(const json::field& model, tokenizer_spec& spec) {
  if (model.text("type", "BPE") != "BPE") model.at("type").refuse("cogen knows BPE");
  refuse_if_given(model, "continuing_subword_prefix");
  refuse_if_given(model, "end_of_word_suffix");
  spec.vocabulary = vocabulary_of(model.at("vocab"));
  auto merges = model.at("merges");
  spec.merges.reserve(merges.array().size());
  for (std::size_t i = 0; i < merges.array().size(); ++i) spec.merges.push_back(merge_of(merges.element(i)));
  spec.fuse_unknown = model.flag("fuse_unk", false);
  spec.byte_fallback = model.flag("byte_fallback", false);
  spec.ignore_merges = model.flag("ignore_merges", false);
}

void read_unknown(const json::field& model, tokenizer_spec& spec) {
  auto unknown = model.find("unk_token");
  if (!unknown) return;
  spec.unknown = find_spelling(spec.vocabulary, unknown->string());
  for (const auto& added : spec.added) {
    if (!spec.unknown && added.content == unknown->string()) spec.unknown = added.id;
  }
  if (!spec.unknown) unknown->refuse("the vocabulary has no such token");
}

added_token added_token_of(const json::field& field) {
  added_token added;
  added.id = token_id(field.at("id"));
  added.content = field.at("content").string();
  added.special = field.flag("special", false);
  added.lstrip = field.flag("lstrip", false);
  added.rstrip = field.flag("rstrip", false);
  added.normalized = field.flag("normalized", !added.special);
  added.single_word = field.flag("single_word", false);
  return added;
}

void read_tokenizer(const json::field& root, tokenizer_spec& spec) {
  auto model = root.at("model");
  read_model(model, spec);
  if (auto added = root.find("added_tokens")) {
    for (std::size_t i = 0; i < added->array().size(); ++i) spec.added.push_back(added_token_of(added->element(i)));
  }
  read_unknown(model, spec);
  if (auto section = root.find("normalizer")) spec.normalizer = normalizer_steps(*section);
  if (auto section = root.find("pre_tokenizer")) spec.pre_tokenizer = pre_tokenizer_steps(*section);
  auto decoder = root.find("decoder");
  auto kind = decoder ? decoder_of(*decoder) : decoder_kind{};
  spec.spelled = kind.spelled;
  spec.strip_first_space = kind.strip_first_space;
  if (auto section = root.find("post_processor")) {
    auto around = surrounding_of(*section);
    spec.prefix = around.prefix;
    spec.suffix = around.suffix;
  }
}

std::optional<token> token_named(const json::field& config, std::string_view key, const tokenizer_spec& spec) {
  auto field = config.find(key);
  if (!field) return std::nullopt;
  auto content = field->value().is_object() ? field->at("content").string() : field->string();
  for (const auto& added : spec.added) {
    if (added.content == content) return added.id;
  }
  return find_spelling(spec.vocabulary, content);
}

std::string chat_template_of(const json::field& field) {
  if (field.value().is_string()) return field.string();
  std::string only;
  for (std::size_t i = 0; i < field.array().size(); ++i) {
    auto entry = field.element(i);
    if (entry.at("name").string() == "default" || field.array().size() == 1) only = entry.at("template").string();
  }
  return only;
}

void read_config(const json::field& config, tokenizer_spec& spec) {
  spec.bos = token_named(config, "bos_token", spec);
  if (auto eos = token_named(config, "eos_token", spec)) spec.eos.push_back(*eos);
  if (auto found = config.find("chat_template")) spec.chat_template = chat_template_of(*found);
}

}  // namespace

tokenizer_spec from_tokenizer_json(std::string_view tokenizer, std::string_view config) {
  tokenizer_spec spec;
  boost::json::monotonic_resource memory;
  auto document = json::parse(tokenizer, "tokenizer.json", &memory);
  read_tokenizer(json::field(document, "tokenizer.json"), spec);
  if (!config.empty()) {
    auto settings = json::parse(config, "tokenizer_config.json", &memory);
    read_config(json::field(settings, "tokenizer_config.json"), spec);
  }
  return spec;
}

}  // namespace cogen::text
