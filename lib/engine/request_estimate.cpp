#include "engine/checked_request.hpp"
#include "engine/engine_loop.hpp"
#include "engine/runner/diagnostics_of.hpp"
#include "formats/text/stop_matcher.hpp"
#include "sampling/sampler.hpp"

#include <cogen/engine.hpp>

#include <exception>
#include <memory>

namespace cogen {
namespace {

/// Throws what guide_of() throws.
void check_guide(const std::shared_ptr<detail::engine_loop>& loop, const request& what,
                 const detail::read_request& inputs) {
  const auto check = [&](grammar::work_watch* watch) {
    detail::guide_of(what, inputs, loop->parts(), loop->formats(), loop->responses(), watch);
  };
  if (!detail::may_compile(what, loop->formats())) return check(nullptr);
  std::exception_ptr wrong;
  loop->compilations().run(what.tenant, [&, owner = loop](grammar::work_watch& watch) {
    try {
      check(&watch);
    } catch (...) {
      wrong = std::current_exception();
    }
  });
  if (wrong) std::rethrow_exception(wrong);
}

}  // namespace

request_estimate engine::estimate(const request& what) const {
  const auto& parts = loop_->parts();
  request_estimate result;
  const auto may_hold = [&](int tokens) {
    result.most_tokens = tokens;
    result.cache_bytes = parts.limits.usage(tokens);
  };
  try {
    detail::check_parameters(what, loop_->vocabulary());
    const auto read = detail::read(what, parts, loop_->responses().syntax(), loop_->vocabulary());
    result.prompt_tokens = static_cast<int>(read.prompt.size());
    if (read.encoder_input) result.encoder_tokens = static_cast<int>(read.encoder_input->size());
    may_hold(result.prompt_tokens + 1);
    may_hold(result.prompt_tokens + detail::new_tokens_after(result.prompt_tokens, what, parts.limits));
    const sampler sampling(what.sampling, loop_->vocabulary(), detail::end_tokens_of(what, parts));
    check_guide(loop_, what, read);
    const text::stop_matcher cuts(what.stop);
  } catch (...) {
    result.why_not = detail::diagnostics_of(std::current_exception());
  }
  return result;
}

}  // namespace cogen
