// Makes a tokenizer of what a GGUF file says about it.
#include "formats/text/bert_steps.hpp"
#include "formats/text/gguf_pre_tokenizers.hpp"
#include "formats/text/split_patterns.hpp"
#include "formats/text/token_decoder.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <cogen/text/tokenizer.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace cogen::text {
namespace {

enum token_type : std::int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

token_type type_of(const gguf_vocabulary& vocabulary, std::size_t id) {
  return vocabulary.token_types.empty() ? normal : static_cast<token_type>(vocabulary.token_types[id]);
}

std::pair<std::string, std::string> split_merge(const std::string& merge, std::size_t rank) {
  auto space = merge.find(' ', 1);
  if (space != std::string::npos) return {merge.substr(0, space), merge.substr(space + 1)};
  throw std::invalid_argument("tokenizer.ggml.merges[" + std::to_string(rank) + "] is \"" + merge +
                              "\", but a merge has two parts with a space between");
}

void read_merges(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  spec.merges.reserve(vocabulary.merges.size());
  for (const auto& merge : vocabulary.merges) spec.merges.push_back(split_merge(merge, spec.merges.size()));
}

std::vector<added_token> added_tokens(const gguf_vocabulary& vocabulary) {
  std::vector<added_token> added;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    auto type = type_of(vocabulary, id);
    if (type != control && type != user_defined && type != unknown) continue;
    added.push_back({.id = static_cast<token>(id), .content = vocabulary.tokens[id], .special = type != user_defined});
  }
  return added;
}

void require_size(const char* key, std::size_t size, std::size_t tokens) {
  if (size == 0 || size == tokens) return;
  throw std::invalid_argument(std::string(key) + " has " + std::to_string(size) +
                              " entries, but tokenizer.ggml.tokens has " + std::to_string(tokens));
}

std::vector<token> given(std::initializer_list<std::optional<token>> ids) {
  std::vector<token> present;
  for (auto id : ids) {
    if (id) present.push_back(*id);
  }
  return present;
}

std::optional<token> first_of(std::optional<token> id, std::optional<token> otherwise) { return id ? id : otherwise; }

/// The token if it is to be added: as the flag says, else as the model is used to.
std::vector<token> added_if(std::optional<bool> flag, bool otherwise, std::optional<token> id, const char* missing) {
  if (!flag.value_or(otherwise)) return {};
  if (id || !flag) return given({id});
  throw std::invalid_argument(missing);
}

void surround(const gguf_vocabulary& vocabulary, bool adds_bos, bool adds_eos, tokenizer_spec& spec) {
  spec.prefix = added_if(vocabulary.add_bos, adds_bos, first_of(vocabulary.bos, vocabulary.cls),
                         "tokenizer.ggml.add_bos_token is set, but bos_token_id is missing");
  spec.suffix = added_if(vocabulary.add_eos, adds_eos, vocabulary.eos,
                         "tokenizer.ggml.add_eos_token is set, but eos_token_id is missing");
}

/// Of encoders, whose texts have a beginning and an end: RoBERTa's put two ends between the texts of a pair.
void join_pairs(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  if (spec.prefix.empty()) return;
  spec.between_pair = spec.suffix;
  if (vocabulary.pre != "modern-bert")
    spec.between_pair.insert(spec.between_pair.end(), spec.suffix.begin(), spec.suffix.end());
}

std::optional<token> unknown_of(const gguf_vocabulary& vocabulary) {
  if (vocabulary.unknown) return vocabulary.unknown;
  auto found = std::find(vocabulary.token_types.begin(), vocabulary.token_types.end(), unknown);
  if (found == vocabulary.token_types.end()) return std::nullopt;
  return static_cast<token>(found - vocabulary.token_types.begin());
}

void read_scores(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  if (vocabulary.scores.empty()) {
    throw std::invalid_argument("tokenizer.ggml.scores is missing, but tokenizer.ggml.model is \"" + vocabulary.model +
                                "\"");
  }
  spec.scores.assign(vocabulary.scores.begin(), vocabulary.scores.end());
}

void read_byte_level(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  read_merges(vocabulary, spec);
  const auto& pre = pre_tokenizer_named(vocabulary.pre);
  pre.apply(spec);
  spec.ignore_merges = pre.ignore_merges;
  surround(vocabulary, pre.adds_bos, false, spec);
  join_pairs(vocabulary, spec);
}

// The flag is not read: early files deny a token that the model needs.
void read_gemma4(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  read_merges(vocabulary, spec);
  split_lines(spec);
  spec.prefix = given({vocabulary.bos});
  spec.suffix = added_if(vocabulary.add_eos, false, vocabulary.eos,
                         "tokenizer.ggml.add_eos_token is set, but eos_token_id is missing");
}

void begin_with_space(tokenizer_spec& spec) {
  spec.normalizer.emplace_back(prepend_step{std::string(lower_block)});
  spec.strip_first_space = true;
}

bool goes_beyond_a_word(std::string_view spelling) {
  for (auto position = spelling.find(lower_block); position != std::string_view::npos;
       position = spelling.find(lower_block, position + 1)) {
    if (position > 0 && !spelling.substr(0, position).ends_with(lower_block)) return true;
  }
  return false;
}

// The pieces of a text are shorter where no token needs more.
void split_words_if_possible(tokenizer_spec& spec) {
  if (std::any_of(spec.vocabulary.begin(), spec.vocabulary.end(), goes_beyond_a_word)) return;
  spec.pre_tokenizer = {split_step{std::string(spaced_words_pattern)}};
}

void write_spaces_as_blocks(tokenizer_spec& spec) {
  split_words_if_possible(spec);
  spec.normalizer.emplace_back(replace_step{" ", false, std::string(lower_block)});
  spec.decoder = sentence_piece_decoder();
}

void read_sentence_pieces(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  spec.model = encoding_model::byte_pair_by_score;
  read_scores(vocabulary, spec);
  if (vocabulary.add_space_prefix.value_or(true)) begin_with_space(spec);
  write_spaces_as_blocks(spec);
  spec.byte_fallback = true;
  spec.fuse_unknown = true;
  surround(vocabulary, true, false, spec);
}

double score_of_unknown(const gguf_vocabulary& vocabulary) {
  auto lowest = std::numeric_limits<double>::max();
  for (std::size_t id = 0; id < vocabulary.scores.size(); ++id) {
    if (type_of(vocabulary, id) == normal) lowest = std::min<double>(lowest, vocabulary.scores[id]);
  }
  return lowest - unknown_penalty;
}

void normalize_as_sentence_piece(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  const bool begins_with_space = vocabulary.add_space_prefix.value_or(false);
  const bool removes_spaces = vocabulary.remove_extra_whitespaces.value_or(false);
  if (begins_with_space && !removes_spaces) begin_with_space(spec);
  if (!vocabulary.precompiled_charsmap.empty()) {
    spec.normalizer.emplace_back(charsmap_step{vocabulary.precompiled_charsmap});
  }
  if (removes_spaces) {
    spec.normalizer.emplace_back(replace_step{R"(\A +)", true, ""});
    spec.normalizer.emplace_back(replace_step{"  +", true, " "});
  }
  if (begins_with_space && removes_spaces) begin_with_space(spec);
  write_spaces_as_blocks(spec);
  if (removes_spaces) spec.normalizer.emplace_back(replace_step{std::string(lower_block) + R"(+\z)", true, ""});
}

void read_unigram(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  spec.model = encoding_model::unigram;
  read_scores(vocabulary, spec);
  spec.unknown_score = score_of_unknown(vocabulary);
  spec.byte_fallback =
      std::find(vocabulary.token_types.begin(), vocabulary.token_types.end(), byte) != vocabulary.token_types.end();
  normalize_as_sentence_piece(vocabulary, spec);
  surround(vocabulary, false, true, spec);
  join_pairs(vocabulary, spec);
}

// Files mark the beginning of a word by U+2581, and the vocabulary the continuation by "##".
std::string word_piece_of(const std::string& spelling, token_type type) {
  if (type == control || type == unknown || (spelling.starts_with('[') && spelling.ends_with(']'))) return spelling;
  return spelling.starts_with(lower_block) ? spelling.substr(lower_block.size()) : "##" + spelling;
}

void read_word_pieces(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  spec.model = encoding_model::word_piece;
  for (std::size_t id = 0; id < spec.vocabulary.size(); ++id) {
    spec.vocabulary[id] = word_piece_of(spec.vocabulary[id], type_of(vocabulary, id));
  }
  const bool lowercase = vocabulary.lowercase.value_or(true);
  const bool strip_accents = vocabulary.strip_accents.value_or(lowercase);
  spec.normalizer = bert_normalizer({.strip_accents = strip_accents, .lowercase = lowercase});
  spec.pre_tokenizer = bert_pre_tokenizer();
  spec.decoder = {word_piece_decoding{}};
  surround(vocabulary, true, false, spec);
  if (spec.suffix.empty()) spec.suffix = given({first_of(vocabulary.separator, vocabulary.eos)});
  spec.between_pair = spec.suffix;
}

/// Converters name rows of the model's matrices that no token has, which have no text.
void clear_padding(const gguf_vocabulary& vocabulary, tokenizer_spec& spec) {
  for (std::size_t id = 0; id < spec.vocabulary.size(); ++id)
    if (type_of(vocabulary, id) == unused && spec.vocabulary[id] == "[PAD" + std::to_string(id) + "]")
      spec.vocabulary[id].clear();
}

struct known_model {
  std::string_view name;
  void (*read)(const gguf_vocabulary&, tokenizer_spec&);
};

constexpr auto models = std::to_array<known_model>({{"gpt2", read_byte_level},
                                                    {"llama", read_sentence_pieces},
                                                    {"t5", read_unigram},
                                                    {"bert", read_word_pieces},
                                                    {"gemma4", read_gemma4}});

const known_model& model_named(std::string_view name) {
  std::string names;
  for (const auto& each : models) {
    if (each.name == name) return each;
    names.append(names.empty() ? "" : ", ").append(each.name);
  }
  throw std::invalid_argument("tokenizer.ggml.model is \"" + std::string(name) + "\", but cogen knows " + names);
}

}  // namespace

tokenizer_spec from_gguf(const gguf_vocabulary& vocabulary) {
  const auto& model = model_named(vocabulary.model);
  require_size("tokenizer.ggml.token_type", vocabulary.token_types.size(), vocabulary.tokens.size());
  require_size("tokenizer.ggml.scores", vocabulary.scores.size(), vocabulary.tokens.size());
  tokenizer_spec spec;
  spec.vocabulary = vocabulary.tokens;
  clear_padding(vocabulary, spec);
  spec.added = added_tokens(vocabulary);
  spec.unknown = unknown_of(vocabulary);
  model.read(vocabulary, spec);
  spec.bos = vocabulary.bos;
  spec.eos = given({vocabulary.eos, vocabulary.eot, vocabulary.eom});
  spec.chat_template = vocabulary.chat_template.value_or("");
  return spec;
}

}  // namespace cogen::text
