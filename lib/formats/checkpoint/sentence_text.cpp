#include "formats/checkpoint/sentence_text.hpp"

#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/json/field.hpp"
#include "formats/json/parse.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

namespace cogen::load {
namespace {

constexpr std::int64_t max_length = std::int64_t{1} << 31;

constexpr std::array<std::string_view, 7> names_of_settings{
    "sentence_bert_config.json",      "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",  "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

/// Settings that say how weights are loaded, or what texts alone do not meet.
constexpr std::array<std::string_view, 7> idle_settings{"trust_remote_code",
                                                        "add_pooling_layer",
                                                        "attn_implementation",
                                                        "torch_dtype",
                                                        "dtype",
                                                        "use_safetensors",
                                                        "use_memory_efficient_attention"};

void read_file(const std::filesystem::path& file, const std::function<void(const json::field&)>& read) {
  const auto text = read_text(file, largest_settings_file);
  const auto root = read_json([&] { return json::parse_with_unique_keys(text, file.string()); });
  read_json([&] { return read(json::field(root, file.string())), 0; });
}

bool is_idle(const json::field& value) {
  if (value.value().is_null()) return true;
  if (const auto* members = value.value().if_object())
    return std::ranges::all_of(*members, [](const auto& member) {
      return std::ranges::find(idle_settings, std::string_view(member.key())) != idle_settings.end();
    });
  return false;
}

/// What the transformer gives for texts: hidden states, or the scores of pairs.
bool is_plain(const json::field& modality) {
  const auto text = modality.find("text");
  const auto output = text ? text->text("method_output_name", "") : "";
  return output == "last_hidden_state" || output == "logits";
}

std::int64_t length_of(const json::field& value) {
  const auto length = value.integer();
  if (length < 1 || length > max_length) value.refuse(fmt::format("must be from 1 to {}", max_length));
  return length;
}

void read_setting(std::string_view key, const json::field& value, sentence_text& result,
                  std::optional<std::int64_t>& length) {
  constexpr std::array<std::string_view, 4> of_queries{"query_length", "document_length", "unpad_inputs", "backend"};
  if (value.value().is_null() || std::ranges::find(of_queries, key) != of_queries.end()) return;
  if (key == "max_seq_length") {
    length = length_of(value);
  } else if (key == "do_lower_case") {
    result.lowercase = value.boolean();
  } else if (key == "transformer_task") {
    const auto task = value.string();
    if (task != "feature-extraction" && task != "sequence-classification")
      value.refuse("feature-extraction and sequence-classification are known");
  } else if (key == "module_output_name") {
    const auto name = value.string();
    if (name != "token_embeddings" && name != "scores") value.refuse("token_embeddings and scores are known");
  } else if (key == "modality_config" ? !is_plain(value) : !is_idle(value)) {
    value.refuse("this setting of Sentence Transformers is not known");
  }
}

std::optional<std::int64_t> read_settings(const std::filesystem::path& folder, sentence_text& result) {
  std::optional<std::int64_t> length;
  for (const auto name : names_of_settings) {
    if (!is_there(folder / name)) continue;
    read_file(folder / name, [&](const json::field& settings) {
      for (const auto& member : settings.object())
        read_setting(member.key(), *settings.member(member.key()), result, length);
    });
    break;
  }
  return length;
}

/// The length that a tokenizer has without other settings. Where none is meant, it is a number beyond all texts.
std::int64_t length_of_tokenizer(const json::field& config) {
  const auto length = config.find("model_max_length");
  if (!length) return max_length;
  const auto& number = length->value();
  const auto value = number.is_double() ? number.get_double() : number.is_number() ? number.to_number<double>() : 0;
  if (!(value >= 1)) length->refuse("must be at least 1");
  return static_cast<std::int64_t>(std::min(value, static_cast<double>(max_length)));
}

}  // namespace

std::string read_default_prompt(const std::filesystem::path& folder) {
  const auto file = folder / "config_sentence_transformers.json";
  if (!is_there(file)) return {};
  std::string prompt;
  read_file(file, [&](const json::field& settings) {
    const auto name = settings.find("default_prompt_name");
    if (!name) return;
    const auto prompts = settings.find("prompts");
    const auto found = prompts ? prompts->find(name->string()) : std::nullopt;
    if (!found && name->string() != "query" && name->string() != "document")
      name->refuse("the prompts have no such name");
    if (found) prompt = found->string();
  });
  return prompt;
}

sentence_text read_sentence_text(const std::filesystem::path& folder, std::string_view tokenizer_config,
                                 std::int64_t positions) {
  sentence_text result{.has_modules = is_there(folder / "modules.json"), .max_tokens = positions};
  if (!tokenizer_config.empty()) {
    const auto root = read_json([&] { return json::parse(tokenizer_config, "tokenizer_config.json"); });
    read_json([&] {
      const json::field config(root, "tokenizer_config.json");
      result.max_tokens = std::min(positions, length_of_tokenizer(config));
      result.keeps_end = config.text("truncation_side", "right") == "left";
      return 0;
    });
  }
  if (!result.has_modules) return result;
  if (const auto length = read_settings(folder, result)) result.max_tokens = *length;
  result.prompt = read_default_prompt(folder);
  return result;
}

}  // namespace cogen::load
