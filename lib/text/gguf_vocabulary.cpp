// Makes a tokenizer of what a GGUF file says about it.
#include "cogen/text/tokenizer.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer_spec.hpp"

#include <array>
#include <stdexcept>

namespace cogen::text {
namespace {

enum token_type : std::int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct known_pre_tokenizer {
  std::string_view name;
  void (*apply)(tokenizer_spec&);
};

void split_as_gpt2(tokenizer_spec& spec) { spec.pre_tokenizer = {byte_level_step{false, true}}; }

void split_as_smollm(tokenizer_spec& spec) { spec.pre_tokenizer = {digits_step{true}, byte_level_step{false, true}}; }

void split_as_llama3(tokenizer_spec& spec) {
  spec.pre_tokenizer = {split_step{std::string(llama3_pattern)}, byte_level_step{false, false}};
  spec.ignore_merges = true;
}

void split_as_qwen2(tokenizer_spec& spec) {
  spec.normalizer = {unicode_form::nfc};
  spec.pre_tokenizer = {split_step{std::string(qwen2_pattern)}, byte_level_step{false, false}};
}

constexpr std::array<known_pre_tokenizer, 10> pre_tokenizers{{{"gpt-2", split_as_gpt2},
                                                              {"default", split_as_gpt2},
                                                              {"", split_as_gpt2},
                                                              {"smollm", split_as_smollm},
                                                              {"starcoder", split_as_smollm},
                                                              {"refact", split_as_smollm},
                                                              {"llama-bpe", split_as_llama3},
                                                              {"llama3", split_as_llama3},
                                                              {"llama-v3", split_as_llama3},
                                                              {"qwen2", split_as_qwen2}}};

void choose_pre_tokenizer(std::string_view name, tokenizer_spec& spec) {
  std::string names;
  for (const auto& known : pre_tokenizers) {
    if (known.name == name) return known.apply(spec);
    if (!known.name.empty()) names.append(names.empty() ? "" : ", ").append(known.name);
  }
  throw std::invalid_argument("tokenizer.ggml.pre is \"" + std::string(name) + "\", but cogen knows " + names);
}

std::pair<std::string, std::string> split_merge(const std::string& merge, std::size_t rank) {
  auto space = merge.find(' ', 1);
  if (space != std::string::npos) return {merge.substr(0, space), merge.substr(space + 1)};
  throw std::invalid_argument("tokenizer.ggml.merges[" + std::to_string(rank) + "] is \"" + merge +
                              "\", but a merge has two parts with a space between");
}

std::vector<added_token> added_tokens(const gguf_vocabulary& vocabulary) {
  std::vector<added_token> added;
  for (std::size_t id = 0; id < vocabulary.token_types.size(); ++id) {
    auto type = vocabulary.token_types[id];
    if (type != control && type != user_defined) continue;
    added.push_back({.id = static_cast<token>(id), .content = vocabulary.tokens[id], .special = type == control});
  }
  return added;
}

void require_sizes(const gguf_vocabulary& vocabulary) {
  auto types = vocabulary.token_types.size();
  if (types == 0 || types == vocabulary.tokens.size()) return;
  throw std::invalid_argument("tokenizer.ggml.token_type has " + std::to_string(types) +
                              " entries, but tokenizer.ggml.tokens has " + std::to_string(vocabulary.tokens.size()));
}

std::vector<token> given(std::initializer_list<std::optional<token>> ids) {
  std::vector<token> present;
  for (auto id : ids) {
    if (id) present.push_back(*id);
  }
  return present;
}

std::vector<token> required(std::optional<token> id, const char* flag, const char* key) {
  if (id) return {*id};
  throw std::invalid_argument(std::string(flag) + " is set, but " + key + " is missing");
}

}  // namespace

tokenizer_spec from_gguf(const gguf_vocabulary& vocabulary) {
  if (vocabulary.model != "gpt2") {
    throw std::invalid_argument("tokenizer.ggml.model is \"" + std::string(vocabulary.model) +
                                "\", but cogen knows gpt2");
  }
  require_sizes(vocabulary);
  tokenizer_spec spec;
  spec.vocabulary.assign(vocabulary.tokens.begin(), vocabulary.tokens.end());
  spec.merges.reserve(vocabulary.merges.size());
  for (const auto& merge : vocabulary.merges) spec.merges.push_back(split_merge(merge, spec.merges.size()));
  spec.added = added_tokens(vocabulary);
  choose_pre_tokenizer(vocabulary.pre, spec);
  spec.unknown = vocabulary.unknown;
  spec.bos = vocabulary.bos;
  spec.eos = given({vocabulary.eos, vocabulary.eot, vocabulary.eom});
  if (vocabulary.add_bos) spec.prefix = required(vocabulary.bos, "tokenizer.ggml.add_bos_token", "bos_token_id");
  if (vocabulary.add_eos) spec.suffix = required(vocabulary.eos, "tokenizer.ggml.add_eos_token", "eos_token_id");
  spec.chat_template = vocabulary.chat_template;
  return spec;
}

}  // namespace cogen::text
