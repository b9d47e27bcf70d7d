#include "decoding/context_table.hpp"
#include "decoding/match_lengths.hpp"

#include <cogen/drafter.hpp>

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace {

/// Two tables: what is learned goes to the newer one. Once that is full, the older one is cleared and becomes the
/// newer.
class shared_tree final : public drafter, public std::enable_shared_from_this<shared_tree> {
 public:
  explicit shared_tree(const suffix_tree_options& options)
      : least_(static_cast<std::size_t>(options.min_match)),
        longest_(static_cast<std::size_t>(options.max_match)),
        newer_(options.bytes / 2, longest_),
        older_(options.bytes / 2, longest_) {}

  std::shared_ptr<drafter> begin(const draft_target& request) override;

  std::vector<token> draft(std::span<const token> history, int most) override { return draft_or(history, most, *own_); }

  /// What `otherwise` drafts if the tree knows nothing.
  std::vector<token> draft_or(std::span<const token> history, int most, drafter& otherwise) {
    auto drafts = from_tree(history, static_cast<std::size_t>(most));
    return drafts.empty() ? otherwise.draft(history, most) : drafts;
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

/// Drafts for one request.
class request_tree final : public drafter {
 public:
  request_tree(std::shared_ptr<shared_tree> shared, std::shared_ptr<drafter> own)
      : shared_(std::move(shared)), own_(std::move(own)) {}

  std::vector<token> draft(std::span<const token> history, int most) override {
    return shared_->draft_or(history, most, *own_);
  }

  void accept(std::span<const token> history, int count) override { shared_->accept(history, count); }

 private:
  const std::shared_ptr<shared_tree> shared_;
  const std::shared_ptr<drafter> own_;
};

std::shared_ptr<drafter> shared_tree::begin(const draft_target& request) {
  return std::make_shared<request_tree>(shared_from_this(), own_->begin(request));
}

}  // namespace

std::shared_ptr<drafter> suffix_tree(const suffix_tree_options& options) {
  detail::check_match_lengths("suffix_tree_options", {"min_match", options.min_match},
                              {"max_match", options.max_match});
  if (options.bytes > suffix_tree_options::max_bytes)
    throw std::invalid_argument(fmt::format("suffix_tree_options.bytes is {}; it must be at most {}", options.bytes,
                                            suffix_tree_options::max_bytes));
  return std::make_shared<shared_tree>(options);
}

}  // namespace cogen
