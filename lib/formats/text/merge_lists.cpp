#include "formats/text/merge_lists.hpp"

#include "formats/text/plain_tokens.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

namespace cogen::text {
namespace {

token existing(const vocabulary& words, const std::string& spelling, std::size_t rank) {
  if (auto id = words.find(spelling)) return *id;
  throw std::invalid_argument("merge " + std::to_string(rank) + " needs the token \"" + spelling +
                              "\", which the vocabulary lacks");
}

std::vector<double> descending(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end(), std::greater{});
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  return scores;
}

/// Collects the pairs that form tokens.
class pair_finder {
 public:
  pair_finder(const vocabulary& words, const tokenizer_spec& spec)
      : words_(words), spec_(spec), plain_(plain_tokens(spec)), scores_(descending(spec.scores)) {}

  scored_merges run() {
    for (std::size_t id = 0; id < plain_.size(); ++id) {
      const auto found = plain_[id] ? words_.find(spec_.vocabulary[id]) : std::nullopt;
      if (found == static_cast<token>(id)) find_pairs_of(*found);
    }
    merge_table table(pairs_.size());
    for (const auto& [left, right, rule] : pairs_) table.insert(left, right, rule);
    return {std::move(table), std::move(parts_)};
  }

 private:
  struct pair {
    token left;
    token right;
    merge rule;
  };

  void find_pairs_of(token whole) {
    const std::string_view spelling = spec_.vocabulary[static_cast<std::size_t>(whole)];
    const merge rule{rank_of(whole), whole};
    for (std::size_t position = first_character(spelling).length; position < spelling.size();
         position += first_character(spelling.substr(position)).length) {
      const auto left = symbol(spelling.substr(0, position));
      if (left == no_token) continue;
      const auto right = symbol(spelling.substr(position));
      if (right != no_token) pairs_.push_back({left, right, rule});
    }
  }

  std::uint32_t rank_of(token whole) const {
    const auto score = spec_.scores[static_cast<std::size_t>(whole)];
    const auto place = std::lower_bound(scores_.begin(), scores_.end(), score, std::greater{});
    return static_cast<std::uint32_t>(place - scores_.begin());
  }

  token symbol(std::string_view spelling) {
    const auto id = words_.find(spelling);
    if (id && plain_[static_cast<std::size_t>(*id)]) return *id;
    if (first_character(spelling).length != spelling.size()) return no_token;
    const auto next = static_cast<token>(words_.size() + parts_.size());
    return parts_.try_emplace(std::string(spelling), next).first->second;
  }

  const vocabulary& words_;
  const tokenizer_spec& spec_;
  std::vector<bool> plain_;
  std::vector<double> scores_;
  std::vector<pair> pairs_;
  std::unordered_map<std::string, token> parts_;
};

}  // namespace

merge_table listed_merges(const vocabulary& words, const tokenizer_spec& spec) {
  merge_table table(spec.merges.size());
  for (std::uint32_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    auto result = existing(words, left + right, rank);
    table.insert(existing(words, left, rank), existing(words, right, rank), {rank, result});
  }
  return table;
}

scored_merges merges_by_score(const vocabulary& words, const tokenizer_spec& spec) {
  return pair_finder(words, spec).run();
}

}  // namespace cogen::text
