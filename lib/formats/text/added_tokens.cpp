#include "formats/text/added_tokens.hpp"

#include "formats/text/character_class.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>

namespace cogen::text {
namespace {

bool ends_with_word(std::string_view text) {
  return !text.empty() &&
         is_word_character(first_character(text.substr(character_before(text, text.size()))).code_point);
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word_character(first_character(text).code_point);
}

}  // namespace

void added_token_matcher::add(const added_token& added) {
  if (added.content.empty()) return;
  trie_.insert(added.content, tokens_.size());
  first_bytes_.set(static_cast<unsigned char>(added.content[0]));
  tokens_.push_back(added);
}

std::optional<range> added_token_matcher::claimed(std::string_view text, range match, const added_token& added,
                                                  std::size_t done, walked_spaces& spaces) const {
  auto prefix = text.substr(0, match.begin);
  auto suffix = text.substr(match.end);
  if (added.single_word && (ends_with_word(prefix) || begins_with_word(suffix))) return std::nullopt;
  if (added.lstrip) {
    const auto begin = std::min(done, match.begin);
    match.begin = std::max(begin + without_trailing_space(prefix.substr(begin)).size(), done);
  }
  if (added.rstrip && (match.end < spaces.begin || match.end > spaces.end)) {
    spaces = {match.end, text.size() - without_leading_space(suffix).size()};
  }
  if (added.rstrip) match.end = spaces.end;
  if (match.begin >= match.end) return std::nullopt;  // an earlier token took all that this one would take
  return match;
}

std::vector<text_part> added_token_matcher::split(std::string_view text, const permission& may_be_special,
                                                  refused_match refused, text_budget& budget) const {
  std::vector<text_part> parts;
  walked_spaces spaces;
  std::size_t done = 0;
  for (std::size_t position = 0; position < text.size();) {
    std::size_t visited = 1;
    auto found = first_bytes_.test(static_cast<unsigned char>(text[position]))
                     ? trie_.longest_prefix(text.substr(position), byte_trie::root, visited)
                     : std::nullopt;
    budget.spend(visited);
    if (!found) {
      ++position;
      continue;
    }
    const auto& added = tokens_[found->value];
    range match{position, position + found->length};
    if (added.special && !may_be_special(match)) {
      position = refused == refused_match::skipped ? match.end : position + 1;
      continue;
    }
    position = match.end;
    auto where = claimed(text, match, added, done, spaces);
    if (!where) continue;
    if (done < where->begin) parts.push_back({{done, where->begin}, std::nullopt});
    parts.push_back({*where, added.id});
    done = where->end;  // perhaps within what an earlier token took: as there, the rest of that is text again
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, std::nullopt});
  return parts;
}

}  // namespace cogen::text
