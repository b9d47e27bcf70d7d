#include "draft_source.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <algorithm>
#include <utility>

namespace server {
namespace {

/// The engine beside that of the requests keeps nothing on disk and reports nothing.
cogen::engine_options beside(cogen::engine_options options) {
  options.events = nullptr;
  options.kv.events = nullptr;
  options.kv.prefix_cache_directory.clear();
  return options;
}

}  // namespace

draft_source::draft_source(const speculation_options& settings, const cogen::load_options& loading,
                           cogen::engine_options options, const cogen::engine& target)
    : max_draft_tokens_(settings.max_draft_tokens), is_shared_(settings.kind != drafter_kind::suffix_tree) {
  switch (settings.kind) {
    case drafter_kind::prompt_lookup:
      shared_ = cogen::prompt_lookup();
      break;
    case drafter_kind::mtp:
      shared_ = cogen::mtp();
      break;
    case drafter_kind::model:
      engine_ = std::make_unique<cogen::engine>(cogen::load_model(settings.model, loading), beside(std::move(options)));
      shared_ = cogen::draft_model(*engine_);
      static_cast<void>(shared_->begin({target.tokenizer(), target.vocabulary()}));  // throws if they do not match
      break;
    default:
      break;
  }
}

draft_source::draft_source(std::shared_ptr<cogen::drafter> shared, int max_draft_tokens)
    : max_draft_tokens_(max_draft_tokens), shared_(std::move(shared)), is_shared_(true) {}

cogen::speculative_options draft_source::for_request(const cogen::request& request, std::optional<int> most) {
  const int drafts = most.value_or(max_draft_tokens_);
  if (drafts == 0) return {};
  if (!is_shared_ && request.cache_salt) return {.drafter = salted_, .max_draft_tokens = drafts};
  const std::lock_guard lock(mutex_);
  auto& own = is_shared_ ? shared_ : by_tenant_[request.tenant];
  if (!own) own = cogen::suffix_tree();
  return {.drafter = own, .max_draft_tokens = drafts};
}

}  // namespace server
