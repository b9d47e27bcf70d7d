#include <cogen/drafter.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace cogen {
namespace {

class lookup final : public drafter {
 public:
  explicit lookup(const prompt_lookup_options& options)
      : least_(static_cast<std::size_t>(options.min_ngram)), most_(static_cast<std::size_t>(options.max_ngram)) {}

  std::vector<token> draft(std::span<const token> history, int most) override {
    std::vector<token> drafts;
    const auto begin = after_latest_match(history);
    if (begin == history.size()) return drafts;
    for (auto next = begin; drafts.size() < static_cast<std::size_t>(most); ++next)
      drafts.push_back(next < history.size() ? history[next] : drafts[next - history.size()]);
    return drafts;
  }

 private:
  /// Where the latest of the longest matches ends; the end of the history if there is none.
  std::size_t after_latest_match(std::span<const token> history) const {
    std::size_t longest = least_ - 1, found = history.size();
    for (auto end = history.size(); end-- > least_ && longest < most_;) {
      const auto length = matching(history, end);
      if (length > longest) longest = length, found = end;
    }
    return found;
  }

  /// How many tokens before `end` are the last ones of the history, at most `most_`.
  std::size_t matching(std::span<const token> history, std::size_t end) const {
    const auto most = std::min(most_, end);
    std::size_t length = 0;
    while (length < most && history[end - 1 - length] == history[history.size() - 1 - length]) ++length;
    return length;
  }

  const std::size_t least_, most_;
};

}  // namespace

std::shared_ptr<drafter> prompt_lookup(const prompt_lookup_options& options) {
  if (options.min_ngram < 1)
    throw std::invalid_argument(
        fmt::format("prompt_lookup_options.min_ngram is {}; it must be at least 1", options.min_ngram));
  if (options.max_ngram < options.min_ngram)
    throw std::invalid_argument(fmt::format("prompt_lookup_options.max_ngram is {}; it must be at least min_ngram, {}",
                                            options.max_ngram, options.min_ngram));
  return std::make_shared<lookup>(options);
}

}  // namespace cogen
