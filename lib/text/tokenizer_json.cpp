// Reads the tokenizer.json and tokenizer_config.json of Hugging Face.
#include "json/field.hpp"
#include "json/parse.hpp"
#include "text/tokenizer_model_json.hpp"
#include "text/tokenizer_spec.hpp"
#include "text/tokenizer_steps_json.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

namespace cogen::text {
namespace {

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

decoding_steps tokens_with_spaces() { return {{word_piece_decoding{.prefix = "", .cleanup = false}}}; }

void read_tokenizer(const json::field& root, tokenizer_spec& spec) {
  auto model = root.at("model");
  if (auto added = root.find("added_tokens")) {
    for (std::size_t i = 0; i < added->array().size(); ++i) spec.added.push_back(added_token_of(added->element(i)));
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
