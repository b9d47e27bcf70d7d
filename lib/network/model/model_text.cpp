#include "network/model/model_text.hpp"

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/sentence_text.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace cogen::nn {

namespace {

bool has_tokenizer(const load::checkpoint& files) {
  if (files.fields().is_gguf()) return files.fields().has("tokenizer.ggml.model");
  return load::is_there(files.path() / "tokenizer.json");
}

text::tokenizer_spec spec_of(const load::tokenizer_files& source) {
  auto spec = text::from_tokenizer_json(source.tokenizer_json, source.tokenizer_config_json.value_or(""));
  if (source.chat_template_jinja) spec.chat_template = *source.chat_template_jinja;
  return spec;
}

text::tokenizer_spec spec_of(const text::gguf_vocabulary& source) { return text::from_gguf(source); }

/// The union of the end tokens that the configuration and the tokenizer name.
std::vector<token> all_ends(const std::vector<token>& of_config, const std::vector<token>& of_tokenizer) {
  std::set<token> ends(of_config.begin(), of_config.end());
  ends.insert(of_tokenizer.begin(), of_tokenizer.end());
  return {ends.begin(), ends.end()};
}

/// Rows of the model's matrices behind its tokenizer's tokens are tokens without a text.
void pad(text::tokenizer_spec& spec, std::size_t vocabulary) {
  if (spec.vocabulary.size() >= vocabulary) return;
  spec.vocabulary.resize(vocabulary);
  if (!spec.scores.empty()) spec.scores.resize(vocabulary);
}

/// The tokens for infilling, under their newer keys and their older ones.
std::vector<std::pair<std::string, token>> infill_keys(const load::config_fields& fields, std::int64_t vocabulary) {
  std::vector<std::pair<std::string, token>> keys;
  for (const auto* name :
       {"fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"}) {
    auto key = fmt::format("tokenizer.ggml.{}_token_id", name);
    if (!fields.is_gguf() || !fields.has(key)) continue;
    const auto id = static_cast<token>(fields.integer(key, {0, vocabulary - 1}));
    keys.emplace_back(std::move(key), id);
  }
  return keys;
}

void add_lowercase(text::tokenizer_spec& spec) {
  const text::normalizer_step lowercase = text::unicode_form::lowercase;
  const auto is_lowercase = [](const text::normalizer_step& step) {
    const auto* form = std::get_if<text::unicode_form>(&step);
    return form && *form == text::unicode_form::lowercase;
  };
  if (std::ranges::none_of(spec.normalizer, is_lowercase)) spec.normalizer.insert(spec.normalizer.begin(), lowercase);
}

/// What Sentence Transformers' files say of texts.
void add_sentence_text(const load::tokenizer_files& source, const load::checkpoint& files,
                       const load::model_config& config, text::tokenizer_spec& spec, model_text& read) {
  const auto settings =
      load::read_sentence_text(files.path(), source.tokenizer_config_json.value_or(""), config.max_positions);
  if (settings.lowercase) add_lowercase(spec);
  read.prompt = settings.prompt;
  read.pair_cut = {
      .max_tokens = static_cast<std::size_t>(settings.max_tokens),
      .keeps_end = settings.keeps_end,
      .special = {.prefix = spec.prefix.size(), .between = spec.between_pair.size(), .after = spec.suffix.size()}};
  if (settings.has_modules) read.cut = read.pair_cut;
}

void read_tokenizer(const load::checkpoint& files, const load::model_config& config,
                    const std::optional<std::string>& chat_template, model_text& read) {
  if (!has_tokenizer(files)) return;
  const auto source = files.tokenizer();
  auto spec = std::visit([](const auto& given) { return spec_of(given); }, source);
  spec.eos = all_ends(config.eos, spec.eos);
  spec.keys = infill_keys(files.fields(), config.vocabulary);
  pad(spec, static_cast<std::size_t>(config.vocabulary));
  if (chat_template) spec.chat_template = *chat_template;
  if (const auto* folder = std::get_if<load::tokenizer_files>(&source))
    add_sentence_text(*folder, files, config, spec, read);
  read.tokenizer = std::make_unique<const text::tokenizer>(std::move(spec));
}

}  // namespace

model_text read_text(const load::checkpoint& files, const load::model_config& config,
                     const std::optional<std::string>& chat_template) {
  model_text read;
  read_tokenizer(files, config, chat_template, read);
  if (!read.tokenizer || read.tokenizer->chat_template().empty()) return read;
  try {
    read.chat = std::make_unique<const text::chat_template>(read.tokenizer->chat_template());
  } catch (const std::exception& error) {
    read.chat_error = error.what();
  }
  return read;
}

}  // namespace cogen::nn
