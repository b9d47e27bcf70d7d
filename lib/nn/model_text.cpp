#include "nn/model_text.hpp"

#include "load/config_fields.hpp"
#include "text/tokenizer_spec.hpp"

#include <exception>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace cogen::nn {

namespace {

bool has_tokenizer(const load::checkpoint& files) {
  if (files.fields().is_gguf()) return files.fields().has("tokenizer.ggml.model");
  return std::filesystem::exists(files.path() / "tokenizer.json");
}

text::tokenizer_spec spec_of(const load::tokenizer_files& source) {
  auto spec = text::from_tokenizer_json(source.tokenizer_json, source.tokenizer_config_json.value_or(""));
  if (source.chat_template_jinja) spec.chat_template = *source.chat_template_jinja;
  return spec;
}

text::tokenizer_spec spec_of(const load::gguf_tokenizer& source) {
  return text::from_gguf({.model = source.model,
                          .pre = source.pre,
                          .tokens = source.tokens,
                          .token_types = source.types,
                          .merges = source.merges,
                          .scores = source.scores,
                          .bos = source.bos,
                          .eos = source.eos,
                          .eot = source.eot,
                          .eom = source.eom,
                          .unknown = source.unknown,
                          .cls = source.cls,
                          .separator = source.separator,
                          .add_bos = source.add_bos,
                          .add_eos = source.add_eos,
                          .add_space_prefix = source.add_space_prefix,
                          .remove_extra_whitespaces = source.remove_extra_whitespaces,
                          .lowercase = source.lowercase,
                          .strip_accents = source.strip_accents,
                          .precompiled_charsmap = source.precompiled_charsmap,
                          .chat_template = source.chat_template ? std::string_view(*source.chat_template) : ""});
}

/// The union of the end tokens that the configuration and the tokenizer name.
std::vector<token> all_ends(const std::vector<token>& of_config, const std::vector<token>& of_tokenizer) {
  std::set<token> ends(of_config.begin(), of_config.end());
  ends.insert(of_tokenizer.begin(), of_tokenizer.end());
  return {ends.begin(), ends.end()};
}

std::unique_ptr<const text::tokenizer> make_tokenizer(const load::checkpoint& files, const load::model_config& config,
                                                      const std::optional<std::string>& chat_template) {
  if (!has_tokenizer(files)) return nullptr;
  auto spec = std::visit([](const auto& source) { return spec_of(source); }, files.tokenizer());
  spec.eos = all_ends(config.eos, spec.eos);
  if (chat_template) spec.chat_template = *chat_template;
  return std::make_unique<const text::tokenizer>(std::move(spec));
}

}  // namespace

text::tokenizer gguf_tokenizer_of(const load::gguf_tokenizer& source) { return text::tokenizer(spec_of(source)); }

model_text read_text(const load::checkpoint& files, const load::model_config& config,
                     const std::optional<std::string>& chat_template) {
  model_text read{.tokenizer = make_tokenizer(files, config, chat_template), .chat = nullptr, .chat_error = {}};
  if (!read.tokenizer || read.tokenizer->chat_template().empty()) return read;
  try {
    read.chat = std::make_unique<const text::chat_template>(read.tokenizer->chat_template());
  } catch (const std::exception& error) {
    read.chat_error = error.what();
  }
  return read;
}

}  // namespace cogen::nn
