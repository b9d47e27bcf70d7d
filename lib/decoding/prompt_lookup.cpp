#include "decoding/match_lengths.hpp"
#include "decoding/ngram_index.hpp"

#include <cogen/drafter.hpp>

namespace cogen {
namespace {

/// Drafts for one request.
class request_lookup final : public drafter {
 public:
  explicit request_lookup(const prompt_lookup_options& options)
      : index_(static_cast<std::size_t>(options.min_ngram), static_cast<std::size_t>(options.max_ngram)) {}

  std::vector<token> draft(std::span<const token> history, int most) override {
    std::vector<token> drafts;
    const auto begin = index_.after_latest_match(history);
    if (begin == history.size()) return drafts;
    for (auto next = begin; drafts.size() < static_cast<std::size_t>(most); ++next)
      drafts.push_back(next < history.size() ? history[next] : drafts[next - history.size()]);
    return drafts;
  }

 private:
  detail::ngram_index index_;
};

class lookup final : public drafter {
 public:
  explicit lookup(const prompt_lookup_options& options) : options_(options) {}

  std::shared_ptr<drafter> begin(const draft_target& /*request*/) override {
    return std::make_shared<request_lookup>(options_);
  }

  std::vector<token> draft(std::span<const token> history, int most) override {
    return request_lookup(options_).draft(history, most);
  }

 private:
  const prompt_lookup_options options_;
};

}  // namespace

std::shared_ptr<drafter> prompt_lookup(const prompt_lookup_options& options) {
  detail::check_match_lengths("prompt_lookup_options", {"min_ngram", options.min_ngram},
                              {"max_ngram", options.max_ngram});
  return std::make_shared<lookup>(options);
}

}  // namespace cogen
