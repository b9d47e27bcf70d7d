// The pre-tokenizers of byte-level vocabularies in GGUF files, by the names that llama.cpp gives them.
#include "formats/text/gguf_pre_tokenizers.hpp"

#include "formats/text/split_patterns.hpp"
#include "formats/text/token_decoder.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace cogen::text {
namespace {

void split_at_each(tokenizer_spec& spec, std::initializer_list<std::string_view> patterns) {
  for (auto pattern : patterns) spec.pre_tokenizer.emplace_back(split_step{std::string(pattern)});
  spec.pre_tokenizer.emplace_back(byte_level_step{false, false});
}

template <const std::string_view&... Patterns>
void split(tokenizer_spec& spec) {
  split_at_each(spec, {Patterns...});
}

template <const std::string_view&... Patterns>
void compose_and_split(tokenizer_spec& spec) {
  spec.normalizer = {unicode_form::nfc};
  split<Patterns...>(spec);
}

/// Groups digits before it splits at the patterns.
template <digit_groups_step::number_kind Numbers, const std::string_view&... Patterns>
void group_and_split(tokenizer_spec& spec) {
  spec.pre_tokenizer = {digit_groups_step{Numbers}};
  split<Patterns...>(spec);
}

void as_superbpe(tokenizer_spec& spec) {
  spec.pre_tokenizer = {split_step{R"(\p{N}+)"}, digit_groups_step{digit_groups_step::number_kind::decimals}};
  spec.pre_tokenizer.emplace_back(byte_level_step{false, false});
}

constexpr std::string_view digit = R"(\p{N})";
constexpr std::string_view digits = R"(\p{N}+)";
constexpr std::string_view three_digits = R"(\p{N}{1,3})";
constexpr std::string_view three_ascii_digits = "[0-9][0-9][0-9]";
constexpr std::string_view line_end = R"([\r\n])";
constexpr std::string_view last_spaces = R"(\s+$)";
constexpr std::string_view letters = R"(\s?\p{L}+)";
constexpr std::string_view punctuation = R"(\s?\p{P}+)";
constexpr std::string_view symbols = R"([\p{P}$+<=>^~|`]+)";
constexpr std::string_view sentinels = "<sentinel:[0-9]+>";
constexpr std::string_view images = "(?:IMGIMG)[A-I]{1,4}Z";
constexpr std::string_view indentation = R"([\t\n]|    |  )";
constexpr std::string_view one_symbol = R"([\p{P}!-/:-@\[-`{-~])";

constexpr auto as_gpt2 = split<gpt2_pattern>;
constexpr auto as_gpt2_composed = compose_and_split<gpt2_pattern>;
constexpr auto as_starcoder = split<digit, gpt2_pattern>;
constexpr auto as_command_r = compose_and_split<digit, gpt2_pattern>;
constexpr auto as_llama3 = split<llama3_pattern>;
constexpr auto as_qwen2 = compose_and_split<qwen2_pattern>;
constexpr auto as_qwen2_uncomposed = split<qwen2_pattern>;
constexpr auto as_gpt4o = split<gpt4o_pattern>;
constexpr auto as_deepseek_v3 = split<three_digits, chinese_or_kana, deepseek_v3_pattern>;
constexpr auto as_deepseek_coder = split<line_end, letters, punctuation, chinese_or_korean, digit>;
constexpr auto as_deepseek_llm =
    split<line_end, deepseek_llm_letters, deepseek_llm_punctuation, last_spaces, chinese_or_korean, digits>;
constexpr auto as_chameleon = split<sentinels, images, indentation, digit, one_symbol, gpt2_pattern>;
constexpr auto as_tiny_aya = group_and_split<digit_groups_step::number_kind::whole_words, gpt4o_pattern>;
constexpr auto as_afmoe = group_and_split<digit_groups_step::number_kind::any_digits, asian_runs, deepseek_v3_pattern>;

// "default", and no name at all, are of files older than the names.
constexpr auto known = std::to_array<gguf_pre_tokenizer>({
    {"gpt-2", as_gpt2},
    {"default", as_gpt2},
    {"", as_gpt2},
    {"phi-2", as_gpt2},
    {"jais", as_gpt2},
    {"trillion", as_gpt2},
    {"granite-docling", as_gpt2},
    {"exaone4", as_gpt2},
    {"modern-bert", as_gpt2},
    {"roberta-bpe", as_gpt2},
    {"jina-es", as_gpt2},
    {"jina-de", as_gpt2},
    {"jina-v1-en", as_gpt2},
    {"jina-v2-es", as_gpt2},
    {"jina-v2-de", as_gpt2},
    {"jina-v2-code", as_gpt2},
    {"gigachat", as_gpt2},
    {"a.x-4.0", as_gpt2},
    {"mellum", as_gpt2},
    {"mpt", as_gpt2_composed},
    {"olmo", as_gpt2_composed},
    {"smollm", as_starcoder},
    {"starcoder", as_starcoder},
    {"refact", as_starcoder},
    {"codeshell", as_starcoder},
    {"exaone", as_starcoder},
    {"minerva-7b", as_starcoder},
    {"mellum2", as_starcoder},
    {"command-r", as_command_r},
    {"llama-bpe", as_llama3, true, true},
    {"llama3", as_llama3, true, true},
    {"llama-v3", as_llama3, true, true},
    {"falcon3", as_llama3, true, true},
    {"falcon-h1", as_llama3, true, true},
    {"pixtral", as_llama3, true, true},
    {"midm-2.0", as_llama3, true, true},
    {"lfm2", as_llama3, true, true},
    {"jina-v5-nano", as_llama3, true, true},
    {"dbrx", as_llama3},
    {"smaug-bpe", as_llama3},
    {"chatglm-bpe", as_llama3},
    {"glm4", as_llama3, true},
    {"glm5", as_llama3, true},
    {"jais-2", split<jais2_pattern>},
    {"minicpm5", split<three_digits, minicpm5_pattern>, true},
    {"qwen2", as_qwen2},
    {"deepseek-r1-qwen", as_qwen2},
    {"kormo", as_qwen2},
    {"f2llmv2", as_qwen2},
    {"megrez", as_qwen2},
    {"qwen35", split<qwen35_pattern>},
    {"stablelm2", as_qwen2_uncomposed},
    {"hunyuan", as_qwen2_uncomposed},
    {"solar-open", as_qwen2_uncomposed},
    {"grok-2", as_qwen2_uncomposed},
    {"laguna", split<lines_pattern, qwen2_pattern>},
    {"ufakzeka", split<ufakzeka_pattern>},
    {"seed-coder", split<seed_coder_pattern>},
    {"bailingmoe", split<bailing_pattern>},
    {"bailingmoe2", split<bailing_pattern>},
    {"llada-moe", split<bailing_pattern>},
    {"exaone-moe", split<exaone_moe_pattern>},
    {"tekken", split<tekken_pattern>, true, true},
    {"gpt-4o", as_gpt4o},
    {"llama4", as_gpt4o},
    {"kanana2", as_gpt4o},
    {"talkie", as_gpt4o},
    {"minimax-m2", as_gpt4o},
    {"granite-embed-multi-97m", as_gpt4o, true},
    {"tiny_aya", as_tiny_aya},
    {"cohere2moe", as_tiny_aya},
    {"youtu", split<east_asian_runs, youtu_pattern>, true},
    {"kimi-k2", split<kimi_k2_pattern>},
    {"deepseek-llm", as_deepseek_llm},
    {"deepseek-coder", as_deepseek_coder},
    {"deepseek-v3", as_deepseek_v3},
    {"hunyuan-dense", as_deepseek_v3},
    {"joyai-llm", as_deepseek_v3},
    {"hy_v4", as_deepseek_v3},
    {"spark2_5", split<three_digits, chinese_or_kana, spark_pattern, digit>},
    {"afmoe", as_afmoe},
    {"falcon", split<symbols, gpt2_pattern, three_ascii_digits>},
    {"bloom", split<bloom_pattern>},
    {"poro-chat", split<bloom_pattern>},
    {"gpt3-finnish", split<bloom_pattern>},
    {"viking", split<bloom_pattern, digit>},
    {"superbpe", as_superbpe},
    {"chameleon", as_chameleon, false, true},
    {"gemma4", split_lines},
    {"granite-embed-multi-311m", split_lines},
    {"sarvam-moe", split_lines},
});

}  // namespace

const gguf_pre_tokenizer& pre_tokenizer_named(std::string_view name) {
  const auto* found = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.name == name; });
  if (found != known.end()) return *found;
  std::string names;
  for (const auto& each : known) {
    if (!each.name.empty()) names.append(names.empty() ? "" : ", ").append(each.name);
  }
  throw std::invalid_argument("tokenizer.ggml.pre is \"" + std::string(name) + "\", but cogen knows " + names);
}

void split_lines(tokenizer_spec& spec) {
  spec.normalizer = {replace_step{" ", false, std::string(lower_block)}};
  spec.pre_tokenizer = {split_step{std::string(lines_pattern)}};
  spec.byte_fallback = true;
  spec.decoder = sentence_piece_decoder();
}

std::vector<decoder_step> sentence_piece_decoder() {
  return {replace_step{std::string(lower_block), false, " "}, byte_fallback_decoding{}};
}

}  // namespace cogen::text
