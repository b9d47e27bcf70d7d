#include "formats/json/string_list.hpp"
#include "formats/text/added_tokens.hpp"
#include "formats/text/covered_bytes.hpp"
#include "formats/text/normalizer.hpp"
#include "formats/text/piece_encoder.hpp"
#include "formats/text/pre_tokenizer.hpp"
#include "formats/text/spec_check.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/token_decoder.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/trusted_text.hpp"
#include "formats/text/utf8.hpp"

#include <cogen/text/tokenizer.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cogen::text {
namespace {

constexpr std::size_t max_tokens = std::numeric_limits<token>::max();

void require_at_most(std::size_t limit, std::size_t count, const char* unit) {
  if (count <= limit) return;
  throw std::length_error("a text of " + std::to_string(count) + " " + unit + " exceeds the limit of " +
                          std::to_string(limit));
}

std::vector<const added_token*> added_by_id(const tokenizer_spec& spec) {
  std::vector<const added_token*> added(id_count(spec));
  for (const auto& entry : spec.added) added[static_cast<std::size_t>(entry.id)] = &entry;
  return added;
}

/// As the tokenizer's file is at fault, and not a text.
template <typename Step>
auto of_file(token id, Step&& step) try {
  return step();
} catch (const std::runtime_error& error) {
  throw std::invalid_argument("token " + std::to_string(id) + ": " + error.what());
}

std::string normalized(const added_token& added, const normalizer& normalize, text_budget& budget) {
  return of_file(added.id, [&] { return normalize(added.content, budget); });
}

/// The spellings of tokens as they stand, and what is made of them.
class spellings {
 public:
  spellings(const tokenizer_spec& spec, const normalizer& normalize, const token_decoder& decode)
      : spec_(spec), normalize_(normalize), decode_(decode) {}

  json::string_list bytes_by_id(bool is_first) const {
    text_budget budget(spelled_bytes(spec_));  // shared, as a file may have millions
    json::string_list bytes;
    for (const auto* added : added_by_id(spec_)) {
      const auto id = static_cast<token>(bytes.size());
      const auto spelling = spelling_of(id, added, budget);
      bytes.push_back(spelling.empty() ? spelling : of_file(id, [&] {
        auto decoded = decode_.bytes_of(spelling, is_first, added != nullptr, budget);
        budget.take(decoded.size());
        return decoded;
      }));
    }
    return bytes;
  }

 private:
  std::string spelling_of(token id, const added_token* added, text_budget& budget) const {
    if (added != nullptr) return added->normalized ? normalized(*added, normalize_, budget) : added->content;
    const auto place = static_cast<std::size_t>(id);
    return place < spec_.vocabulary.size() ? spec_.vocabulary[place] : std::string();
  }

  const tokenizer_spec& spec_;
  const normalizer& normalize_;
  const token_decoder& decode_;
};

std::vector<bool> special_by_id(const tokenizer_spec& spec) {
  std::vector<bool> special(id_count(spec));
  for (const auto& added : spec.added) special[static_cast<std::size_t>(added.id)] = added.special;
  return special;
}

std::vector<token> ascending(std::vector<token> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

tokenizer_spec checked(tokenizer_spec spec) {
  require_consistent(spec);
  return spec;
}

}  // namespace

struct tokenizer::parts {
  explicit parts(tokenizer_spec given)
      : spec(checked(std::move(given))),
        normalize(spec.normalizer),
        decode(spec.decoder, spec.strip_first_space),
        bytes(spellings(spec, normalize, decode).bytes_by_id(false)),
        first_bytes(decode.depends_on_place() ? spellings(spec, normalize, decode).bytes_by_id(true)
                                              : json::string_list()),
        special(special_by_id(spec)),
        eos(ascending(spec.eos)),
        words(spec.vocabulary),
        encoder(words, spec),
        pre_tokenize(spec.pre_tokenizer),
        covered(covered_bytes(spec)) {
    for (const auto& added : spec.added) add(added);
    std::exchange(spec.vocabulary, {});  // `= {}` would keep the memory
    std::exchange(spec.merges, {});
    std::exchange(spec.scores, {});
    std::exchange(spec.normalizer, {});
  }

  void add(added_token added) {
    added_ids.insert(added.content, static_cast<std::size_t>(added.id));
    if (added.normalized) {
      text_budget budget(added.content.size());
      added.content = normalized(added, normalize, budget);
      if (covered) covered = std::max(*covered, added.content.size());
      normalized_added.add(added);
    } else {
      raw_added.add(added);
    }
  }

  std::string_view bytes_of(token id, bool is_first) const {
    if (id < 0 || static_cast<std::size_t>(id) >= bytes.size()) {
      throw std::out_of_range("token " + std::to_string(id) + " is outside the vocabulary of " +
                              std::to_string(bytes.size()));
    }
    const auto place = static_cast<std::size_t>(id);
    return is_first && first_bytes.size() > 0 ? first_bytes[place] : bytes[place];
  }

  tokenizer_spec spec;
  normalizer normalize;
  token_decoder decode;
  json::string_list bytes;
  json::string_list first_bytes;  // of tokens that begin a text; empty if they are the same
  std::vector<bool> special;
  std::vector<token> eos;
  vocabulary words;
  piece_encoder encoder;
  pre_tokenizer pre_tokenize;
  byte_trie added_ids;
  added_token_matcher raw_added;
  added_token_matcher normalized_added;
  std::optional<std::size_t> covered;  // by one token
};

namespace {

using permission = added_token_matcher::permission;
using refused_match = added_token_matcher::refused_match;

/// One call of encode: adds up the tokens of a text.
template <typename Parts>
class encoding {
 public:
  encoding(const Parts& parts, std::string_view text, std::size_t most, permission may_be_special,
           refused_match refused)
      : parts_(parts),
        text_(text),
        most_(most),
        budget_(text.size()),
        may_be_special_(std::move(may_be_special)),
        refused_(refused) {}

  std::vector<token> run(bool add_special) {
    if (add_special) append(parts_.spec.prefix);
    for (auto part : parts_.raw_added.split(text_, may_be_special_, refused_, budget_)) {
      if (part.id) {
        tokens_.push_back(*part.id);
      } else {
        encode_normalized(parts_.normalize(part.where.slice(text_), budget_), part.where);
      }
    }
    if (add_special) append(parts_.spec.suffix);
    require_at_most(max_tokens, tokens_.size(), "tokens");
    return std::move(tokens_);
  }

 private:
  void encode_normalized(const std::string& text, range original) {
    require_few_tokens(text.size());
    budget_.take(text.size());
    auto whole_may = [&](range) { return may_be_special_(original); };
    for (auto part : parts_.normalized_added.split(text, whole_may, refused_, budget_)) {
      if (part.id) {
        tokens_.push_back(*part.id);
      } else {
        encode_plain(std::string(part.where.slice(text)), original.begin + part.where.begin == 0);
      }
    }
  }

  void encode_plain(std::string text, bool is_first) {
    auto split = parts_.pre_tokenize(std::move(text), is_first, budget_);
    budget_.take(split.text.size());
    for (auto piece : split.pieces) {
      require_at_most(max_tokens, piece.end - piece.begin, "bytes after normalization");
      parts_.encoder.encode(piece.slice(split.text), workspace_, budget_, tokens_);
    }
  }

  /// Before the next part, of so many bytes.
  void require_few_tokens(std::size_t more) {
    normalized_bytes_ += more;
    if (!parts_.covered) return;
    const auto least = normalized_bytes_ / *parts_.covered;
    if (least > most_) throw token_limit_exceeded(text_.size(), least);
  }

  void append(const std::vector<token>& ids) { tokens_.insert(tokens_.end(), ids.begin(), ids.end()); }

  const Parts& parts_;
  std::string_view text_;
  std::size_t most_;  // tokens
  std::size_t normalized_bytes_ = 0;
  text_budget budget_;
  permission may_be_special_;
  refused_match refused_;
  encoding_workspace workspace_;
  std::vector<token> tokens_;
};

}  // namespace

token_limit_exceeded::token_limit_exceeded(std::size_t bytes, std::size_t least)
    : std::length_error("a text of " + std::to_string(bytes) + " bytes has at least " + std::to_string(least) +
                        " tokens, which are too many"),
      least_(least) {}

tokenizer tokenizer::from_tokenizer_json(std::string_view json, std::string_view config) {
  return tokenizer(text::from_tokenizer_json(json, config));
}

tokenizer tokenizer::from_gguf(const gguf_vocabulary& vocabulary) { return tokenizer(text::from_gguf(vocabulary)); }

tokenizer::tokenizer(tokenizer_spec spec) : parts_(std::make_unique<const parts>(std::move(spec))) {}
tokenizer::tokenizer(tokenizer&&) noexcept = default;
tokenizer& tokenizer::operator=(tokenizer&&) noexcept = default;
tokenizer::~tokenizer() = default;

std::vector<token> tokenizer::encode(std::string_view text, encode_options options) const {
  require_at_most(max_tokens, text.size(), "bytes");
  const auto repaired = is_utf8(text) ? std::string() : repaired_utf8(text);
  const auto given = repaired.empty() ? text : std::string_view(repaired);
  auto may_be_special = [&](range) { return options.parse_special; };
  return encoding(*parts_, given, options.max_tokens, may_be_special, refused_match::skipped).run(options.add_special);
}

std::vector<token> tokenizer::encode(std::span<const text_segment> segments, encode_options options) const {
  trusted_text joined(segments);
  require_at_most(max_tokens, joined.text().size(), "bytes");
  auto may_be_special = [&](range where) { return options.parse_special && joined.is_trusted(where); };
  return encoding(*parts_, joined.text(), options.max_tokens, may_be_special, refused_match::searched_within)
      .run(options.add_special);
}

encoder_text tokenizer::encode(const text_pair& pair) const {
  encoder_text result{.tokens = encode(pair.first)};
  const auto& spec = parts_->spec;
  result.tokens.insert(result.tokens.begin(), spec.prefix.begin(), spec.prefix.end());
  result.tokens.insert(result.tokens.end(), spec.between_pair.begin(), spec.between_pair.end());
  result.second = static_cast<int>(result.tokens.size());
  const auto second = encode(pair.second);
  result.tokens.insert(result.tokens.end(), second.begin(), second.end());
  result.tokens.insert(result.tokens.end(), spec.suffix.begin(), spec.suffix.end());
  return result;
}

std::string tokenizer::decode(std::span<const token> tokens, bool skip_special) const {
  std::string bytes;
  for (bool is_first = true; auto id : tokens) {
    const auto part = token_bytes(id, is_first);
    if (skip_special && is_special(id)) continue;
    bytes += part;
    is_first = is_first && parts_->bytes_of(id, false).empty();
  }
  return is_utf8(bytes) ? bytes : repaired_utf8(bytes);
}

std::string_view tokenizer::token_bytes(token id, bool is_first) const { return parts_->bytes_of(id, is_first); }

std::string tokenizer::token_text(token id) const { return repaired_utf8(token_bytes(id)); }

std::optional<token> tokenizer::find(std::string_view spelling) const {
  auto added = parts_->added_ids.longest_prefix(spelling);
  if (added && added->length == spelling.size()) return static_cast<token>(added->value);
  for (const auto& [key, id] : parts_->spec.keys)
    if (key == spelling) return id;
  return parts_->words.find(spelling);
}

std::size_t tokenizer::size() const noexcept { return parts_->bytes.size(); }

std::optional<token> tokenizer::bos() const noexcept { return parts_->spec.bos; }

std::span<const token> tokenizer::eos() const noexcept { return parts_->eos; }

bool tokenizer::is_special(token id) const noexcept {
  return id >= 0 && static_cast<std::size_t>(id) < size() && parts_->special[static_cast<std::size_t>(id)];
}

std::optional<token> tokenizer::unknown() const noexcept { return parts_->spec.unknown; }

std::string_view tokenizer::chat_template() const noexcept { return parts_->spec.chat_template; }

std::string_view tokenizer::response_template() const noexcept { return parts_->spec.response_template; }

}  // namespace cogen::text
