#pragma once

#include "options.hpp"

#include <cogen/drafter.hpp>
#include <cogen/engine.hpp>
#include <cogen/fwd.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace server {

/// What drafts for the requests of one model. The engine of those requests has to end before it.
class draft_source {
 public:
  /// Loads the model that drafts, if it is one. Throws what load_model() and the engine's constructor throw, and
  /// std::invalid_argument if it has other tokens than `target`.
  draft_source(const speculation_options& settings, const cogen::load_options& loading, cogen::engine_options options,
               const cogen::engine& target);

  /// One drafter for all requests.
  draft_source(std::shared_ptr<cogen::drafter> shared, int max_draft_tokens);

  /// Any thread. `most` draft tokens in a step instead of as many as the options say; 0: none. What a request with a
  /// cache salt was told is not learned.
  cogen::speculative_options for_request(const cogen::request& request, std::optional<int> most);

 private:
  int max_draft_tokens_;
  std::unique_ptr<cogen::engine> engine_;  // of the model that drafts
  std::mutex mutex_;
  std::shared_ptr<cogen::drafter> shared_;  // under the lock, as by_tenant_ is
  const std::shared_ptr<cogen::drafter> salted_ = cogen::prompt_lookup();
  std::map<std::uint64_t, std::shared_ptr<cogen::drafter>> by_tenant_;  // where it would tell what others were told
  const bool is_shared_;
};

}  // namespace server
