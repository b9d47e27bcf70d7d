#include "formats/text/token_decoder.hpp"

#include "formats/text/byte_alphabet.hpp"
#include "formats/text/byte_tokens.hpp"
#include "formats/text/overloaded.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace cogen::text {
namespace {

std::string without_spaces_of_words(std::string text, text_budget& budget) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> shorter{{{" .", "."},
                                                                                   {" ?", "?"},
                                                                                   {" !", "!"},
                                                                                   {" ,", ","},
                                                                                   {" ' ", "'"},
                                                                                   {" n't", "n't"},
                                                                                   {" 'm", "'m"},
                                                                                   {" do not", " don't"},
                                                                                   {" 's", "'s"},
                                                                                   {" 've", "'ve"},
                                                                                   {" 're", "'re"}}};
  for (auto [old, replacement] : shorter) text = replaced(text, old, replacement, budget);
  return text;
}

std::string decoded_word_piece(std::string_view spelling, const word_piece_decoding& decoding, bool is_first,
                               text_budget& budget) {
  std::string text(spelling);
  if (!is_first && !decoding.prefix.empty() && spelling.starts_with(decoding.prefix)) {
    text.erase(0, decoding.prefix.size());
  } else if (!is_first) {
    text.insert(text.begin(), ' ');
  }
  return decoding.cleanup ? without_spaces_of_words(std::move(text), budget) : text;
}

struct decoding {
  std::string_view spelling;
  bool is_first;
  bool is_added;
  text_budget& budget;

  std::string operator()(byte_level_decoding) const {
    return is_added ? std::string(spelling) : bytes_of_spelling(spelling).value_or(std::string(spelling));
  }
  std::string operator()(byte_fallback_decoding) const {
    auto byte = is_added ? std::nullopt : byte_literal(spelling);
    return byte ? std::string(1, *byte) : std::string(spelling);
  }
  std::string operator()(const metaspace_decoding& decoding) const {
    return replaced(spelling, decoding.replacement, is_first && decoding.drops_first ? "" : " ", budget);
  }
  std::string operator()(const word_piece_decoding& decoding) const {
    return decoded_word_piece(spelling, decoding, is_first, budget);
  }
  std::string operator()(const replacement& replace) const {
    return is_utf8(spelling) ? replace(spelling, budget) : std::string(spelling);
  }
};

}  // namespace

token_decoder::token_decoder(const std::vector<decoder_step>& steps, bool strip_first_space)
    : strip_first_space_(strip_first_space) {
  for (const auto& given : steps) {
    std::visit(overloaded{[&](const replace_step& replace) { steps_.emplace_back(replacement(replace)); },
                          [&](const auto& kept) { steps_.emplace_back(kept); }},
               given);
  }
}

bool token_decoder::depends_on_place() const noexcept {
  return strip_first_space_ || std::any_of(steps_.begin(), steps_.end(), [](const step& decoding) {
           auto* metaspace = std::get_if<metaspace_decoding>(&decoding);
           return std::holds_alternative<word_piece_decoding>(decoding) || (metaspace && metaspace->drops_first);
         });
}

std::string token_decoder::bytes_of(std::string_view spelling, bool is_first, bool is_added,
                                    text_budget& budget) const {
  std::string bytes(spelling);
  for (const auto& step : steps_) bytes = std::visit(decoding{bytes, is_first, is_added, budget}, step);
  if (is_first && strip_first_space_ && bytes.starts_with(' ')) bytes.erase(0, 1);
  return bytes;
}

}  // namespace cogen::text
