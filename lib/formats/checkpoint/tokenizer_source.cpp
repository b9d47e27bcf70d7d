#include "formats/checkpoint/tokenizer_source.hpp"

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/message.hpp"

namespace cogen::load {
namespace {

constexpr std::uint64_t largest_tokenizer = 256 << 20;
constexpr std::uint64_t largest_tokenizer_config = 32 << 20;
constexpr std::uint64_t largest_template = 4 << 20;

std::optional<std::string> read_if_there(const std::filesystem::path& path, std::uint64_t largest) {
  if (!is_there(path)) return std::nullopt;
  return read_text(path, largest);
}

/// The value of a key, which is of one type or missing.
template <class T>
const T* find(const gguf_file& file, std::string_view key) {
  const auto* value = file.metadata(key);
  if (value == nullptr) return nullptr;
  const auto* found = std::get_if<T>(value);
  if (found == nullptr) refuse(file.path().string(), "{} has the wrong type", key);
  return found;
}

std::vector<std::string> strings(const gguf_file& file, std::string_view key) {
  const auto* found = find<json::string_list>(file, key);
  return found == nullptr ? std::vector<std::string>() : found->strings();
}

std::vector<float> scores(const gguf_file& file) {
  constexpr std::string_view key = "tokenizer.ggml.scores";
  const auto* value = file.metadata(key);
  const auto* integers = value == nullptr ? nullptr : std::get_if<std::vector<std::int32_t>>(value);
  if (integers == nullptr) {
    const auto* numbers = find<std::vector<float>>(file, key);
    return numbers == nullptr ? std::vector<float>() : *numbers;
  }
  std::vector<float> scores;
  for (auto score : *integers) scores.push_back(static_cast<float>(score));
  return scores;
}

void check_length(const gguf_file& file, std::string_view key, std::size_t length, std::size_t tokens) {
  if (length != 0 && length != tokens) {
    refuse(file.path().string(), "{} has {} entries; tokenizer.ggml.tokens has {}", key, length, tokens);
  }
}

std::vector<std::int32_t> token_types(const config_fields& fields) {
  const auto types = fields.integers("tokenizer.ggml.token_type", {0, 255});
  return {types.begin(), types.end()};
}

std::optional<token> token_id(const config_fields& fields, std::string_view key, std::size_t tokens) {
  if (!fields.has(key)) return std::nullopt;
  return static_cast<token>(fields.integer(key, {0, static_cast<std::int64_t>(tokens) - 1}));
}

// One beyond the vocabulary is never sampled.
std::optional<token> end_token_id(const config_fields& fields, std::string_view key, std::size_t tokens) {
  if (!fields.has(key)) return std::nullopt;
  const auto id = fields.integer(key, {std::numeric_limits<std::int64_t>::min()});
  return id >= 0 && std::cmp_less(id, tokens) ? std::optional(static_cast<token>(id)) : std::nullopt;
}

std::string bytes(const gguf_file& file, std::string_view key) {
  const auto* value = file.metadata(key);
  if (value == nullptr) return {};
  if (const auto* numbers = std::get_if<std::vector<std::uint8_t>>(value)) return {numbers->begin(), numbers->end()};
  if (const auto* numbers = std::get_if<std::vector<std::int8_t>>(value)) return {numbers->begin(), numbers->end()};
  refuse(file.path().string(), "{} has the wrong type", key);
}

void read_ids(const config_fields& fields, text::gguf_vocabulary& tokenizer) {
  const auto id = [&](std::string_view key) { return token_id(fields, key, tokenizer.tokens.size()); };
  const auto end = [&](std::string_view key) { return end_token_id(fields, key, tokenizer.tokens.size()); };
  tokenizer.bos = id("tokenizer.ggml.bos_token_id");
  tokenizer.eos = end("tokenizer.ggml.eos_token_id");
  tokenizer.eot = end("tokenizer.ggml.eot_token_id");
  tokenizer.eom = end("tokenizer.ggml.eom_token_id");
  tokenizer.unknown = id("tokenizer.ggml.unknown_token_id");
  tokenizer.cls = id("tokenizer.ggml.cls_token_id");
  tokenizer.separator = id("tokenizer.ggml.seperator_token_id");  // spelled so in the format
}

void read_flags(const config_fields& fields, text::gguf_vocabulary& tokenizer) {
  const auto flag = [&](std::string_view key) {
    return fields.has(key) ? std::optional(fields.boolean(key, false)) : std::nullopt;
  };
  tokenizer.add_bos = flag("tokenizer.ggml.add_bos_token");
  tokenizer.add_eos = flag("tokenizer.ggml.add_eos_token");
  tokenizer.add_space_prefix = flag("tokenizer.ggml.add_space_prefix");
  tokenizer.remove_extra_whitespaces = flag("tokenizer.ggml.remove_extra_whitespaces");
  tokenizer.lowercase = flag("tokenizer.ggml.normalizer.lowercase");
  tokenizer.strip_accents = flag("tokenizer.ggml.normalizer.strip_accents");
}

}  // namespace

tokenizer_files read_tokenizer_files(const std::filesystem::path& folder) {
  const auto main_file = folder / "tokenizer.json";
  if (!is_there(main_file)) refuse(folder.string(), "holds no tokenizer.json");
  return {.tokenizer_json = read_text(main_file, largest_tokenizer),
          .tokenizer_config_json = read_if_there(folder / "tokenizer_config.json", largest_tokenizer_config),
          .chat_template_jinja = read_if_there(folder / "chat_template.jinja", largest_template)};
}

text::gguf_vocabulary read_gguf_vocabulary(const gguf_file& file) {
  const auto fields = config_fields::from_gguf(file);
  text::gguf_vocabulary tokenizer;
  tokenizer.model = fields.string("tokenizer.ggml.model");
  tokenizer.pre = fields.string("tokenizer.ggml.pre", "default");
  tokenizer.tokens = strings(file, "tokenizer.ggml.tokens");
  if (tokenizer.tokens.empty()) refuse(file.path().string(), "tokenizer.ggml.tokens is missing or empty");
  const auto count = tokenizer.tokens.size();
  tokenizer.token_types = token_types(fields);
  tokenizer.merges = strings(file, "tokenizer.ggml.merges");
  tokenizer.scores = scores(file);
  tokenizer.precompiled_charsmap = bytes(file, "tokenizer.ggml.precompiled_charsmap");
  check_length(file, "tokenizer.ggml.token_type", tokenizer.token_types.size(), count);
  check_length(file, "tokenizer.ggml.scores", tokenizer.scores.size(), count);
  read_ids(fields, tokenizer);
  read_flags(fields, tokenizer);
  if (fields.has("tokenizer.chat_template")) tokenizer.chat_template = fields.string("tokenizer.chat_template");
  return tokenizer;
}

}  // namespace cogen::load
