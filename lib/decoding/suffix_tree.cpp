#include "decoding/context_table.hpp"

#include <cogen/drafter.hpp>

#include <fmt/format.h>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace {

/// Two tables: what is learned goes to the newer one. Once that is full, the older one is cleared and becomes the
/// newer.
class shared_tree final : public drafter {
 public:
  explicit shared_tree(const suffix_tree_options& options)
      : least_(static_cast<std::size_t>(options.min_match)),
        longest_(static_cast<std::size_t>(options.max_match)),
        newer_(options.bytes / 2, longest_),
        older_(options.bytes / 2, longest_) {}

  std::vector<token> draft(std::span<const token> history, int most) override {
    auto drafts = from_tree(history, static_cast<std::size_t>(most));
    return drafts.empty() ? own_->draft(history, most) : drafts;
  }

  void accept(std::span<const token> history, int count) override {
    const std::lock_guard lock(mutex_);
    for (auto i = history.size() - static_cast<std::size_t>(count); i < history.size(); ++i) {
      if (newer_.full()) {
        std::swap(newer_, older_);
        newer_.clear();
      }
      newer_.learn(history.first(i), history[i]);
    }
  }

 private:
  std::vector<token> from_tree(std::span<const token> history, std::size_t most) const {
    const auto known = history.last(std::min(longest_, history.size()));
    std::vector<token> context(known.begin(), known.end());
    const std::lock_guard lock(mutex_);
    while (context.size() < known.size() + most) {
      const auto next = likely(context);
      if (!next) break;
      context.push_back(*next);
    }
    context.erase(context.begin(), context.begin() + static_cast<std::ptrdiff_t>(known.size()));
    return context;
  }

  std::optional<token> likely(std::span<const token> context) const {
    const auto recent = newer_.find(context, least_);
    const auto former = older_.find(context, least_);
    const auto& best = !former || (recent && recent->matched >= former->matched) ? recent : former;
    return best ? std::optional(best->id) : std::nullopt;
  }

  const std::size_t least_, longest_;
  const std::shared_ptr<drafter> own_ = prompt_lookup();
  mutable std::mutex mutex_;
  detail::context_table newer_, older_;
};

}  // namespace

std::shared_ptr<drafter> suffix_tree(const suffix_tree_options& options) {
  if (options.min_match < 1)
    throw std::invalid_argument(
        fmt::format("suffix_tree_options.min_match is {}; it must be at least 1", options.min_match));
  if (options.max_match < options.min_match)
    throw std::invalid_argument(fmt::format("suffix_tree_options.max_match is {}; it must be at least min_match, {}",
                                            options.max_match, options.min_match));
  if (options.bytes > suffix_tree_options::max_bytes)
    throw std::invalid_argument(fmt::format("suffix_tree_options.bytes is {}; it must be at most {}", options.bytes,
                                            suffix_tree_options::max_bytes));
  return std::make_shared<shared_tree>(options);
}

}  // namespace cogen
