#include "small_tokenizer.hpp"

#include "formats/text/byte_alphabet.hpp"

using namespace cogen;
using namespace cogen::text;

tokenizer_spec small_spec(const merge_list& merges, const std::vector<std::string>& special) {
  tokenizer_spec spec;
  for (int byte = 0; byte < 256; ++byte) append_printable(spec.vocabulary.emplace_back(), std::string(1, char(byte)));
  spec.merges = merges;
  for (const auto& [left, right] : merges) spec.vocabulary.push_back(left + right);
  auto next = static_cast<token>(spec.vocabulary.size());
  for (const auto& content : special) spec.added.push_back({.id = next++, .content = content, .special = true});
  spec.pre_tokenizer = {byte_level_step{false, false}};
  return spec;
}

tokenizer small_tokenizer(const merge_list& merges, const std::vector<std::string>& special) {
  return tokenizer(small_spec(merges, special));
}

std::vector<token> naive_merges(const tokenizer& tokens, const std::string& text, const merge_list& merges) {
  std::vector<std::string> parts;
  for (char c : text) parts.emplace_back(1, c);
  for (std::size_t rank = 0; rank < merges.size();) {
    auto is_found = false;
    for (std::size_t i = 0; i + 1 < parts.size() && !is_found; ++i) {
      is_found = parts[i] == merges[rank].first && parts[i + 1] == merges[rank].second;
      if (!is_found) continue;
      parts[i] += parts[i + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    rank = is_found ? 0 : rank + 1;
  }
  std::vector<token> ids;
  for (const auto& part : parts) ids.push_back(*tokens.find(part));
  return ids;
}
