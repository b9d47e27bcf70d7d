// Reads the tokenizer.json and tokenizer_config.json of Hugging Face.
#include "formats/json/field.hpp"
#include "formats/json/parse.hpp"
#include "formats/text/spec_check.hpp"
#include "formats/text/tokenizer_model_json.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/tokenizer_steps_json.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

#include <charconv>
#include <map>
#include <system_error>
#include <unordered_map>

namespace cogen::text {
namespace {

added_token added_token_of(const json::field& field, token id) {
  added_token added;
  added.id = id;
  added.content = field.at("content").string();
  added.special = field.flag("special", false);
  added.lstrip = field.flag("lstrip", false);
  added.rstrip = field.flag("rstrip", false);
  added.normalized = field.flag("normalized", !added.special);
  added.single_word = field.flag("single_word", false);
  return added;
}

decoding_steps tokens_with_spaces() { return {{word_piece_decoding{.prefix = "", .cleanup = false}}}; }

void read_tokenizer(const json::field& root, tokenizer_spec& spec) {
  auto model = root.at("model");
  if (auto added = root.find("added_tokens")) {
    for (std::size_t i = 0; i < added->array().size(); ++i) {
      const auto entry = added->element(i);
      spec.added.push_back(added_token_of(entry, token_id(entry.at("id"))));
    }
  }
  read_model(model, spec);
  if (auto section = root.find("normalizer")) spec.normalizer = normalizer_steps(*section);
  if (auto section = root.find("pre_tokenizer")) spec.pre_tokenizer = pre_tokenizer_steps(*section);
  auto decoder = root.find("decoder");
  auto decoding = decoder ? decoding_of(*decoder) : tokens_with_spaces();
  spec.decoder = decoding.steps;
  spec.strip_first_space = decoding.strip_first_space;
  if (auto section = root.find("post_processor")) {
    auto around = surrounding_of(*section);
    spec.prefix = around.prefix;
    spec.suffix = around.suffix;
    spec.between_pair = around.between_pair;
  }
}

/// By their ids.
std::map<std::int64_t, json::field> listed_tokens(const json::field& decoder) {
  std::map<std::int64_t, json::field> listed;
  for (const auto& member : decoder.object()) {
    const auto key = member.key();
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size()) decoder.refuse("its keys are token ids");
    listed.emplace(id, *decoder.member(key));
  }
  return listed;
}

/// Of several of the same spelling the first one's.
std::unordered_map<std::string_view, token> ids_of(const std::vector<std::string>& vocabulary) {
  std::unordered_map<std::string_view, token> ids;
  for (std::size_t id = 0; id < vocabulary.size(); ++id) ids.emplace(vocabulary[id], static_cast<token>(id));
  return ids;
}

/// The configuration's added tokens, whose properties stand above those of tokenizer.json. As in Transformers a new one
/// gets the next id, whatever it is listed under.
void add_tokens(const json::field& config, tokenizer_spec& spec) {
  const auto decoder = config.find("added_tokens_decoder");
  if (!decoder) return;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < spec.added.size(); ++i) known.emplace(spec.added[i].content, i);
  const auto ids = ids_of(spec.vocabulary);
  auto end = id_count(spec);
  for (const auto& [listed_id, field] : listed_tokens(*decoder)) {
    const auto content = field.at("content").string();
    if (const auto found = known.find(content); found != known.end()) {
      auto& added = spec.added[found->second];
      added = added_token_of(field, added.id);
    } else {
      const auto spelled = ids.find(content);
      const auto id = spelled != ids.end() ? spelled->second : static_cast<token>(end++);
      spec.added.push_back(added_token_of(field, id));
      known.emplace(content, spec.added.size() - 1);
    }
  }
}

std::optional<token> token_named(const json::field& config, std::string_view key, const tokenizer_spec& spec) {
  auto field = config.find(key);
  if (!field) return std::nullopt;
  return find_token(spec, field->value().is_object() ? field->at("content").string() : field->string());
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
  add_tokens(config, spec);
  spec.bos = token_named(config, "bos_token", spec);
  if (auto eos = token_named(config, "eos_token", spec)) spec.eos.push_back(*eos);
  if (auto found = config.find("chat_template")) spec.chat_template = chat_template_of(*found);
  if (auto found = config.find("response_template")) spec.response_template = boost::json::serialize(found->value());
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
