#include "engine/checked_request.hpp"
#include "engine/engine_loop.hpp"
#include "runner/diagnostics_of.hpp"
#include "sampling/sampler.hpp"
#include "text/output_processor.hpp"

#include <cogen/engine.hpp>

namespace cogen {

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
    detail::guide_of(what, read, parts, loop_->formats(), loop_->responses());
    const text::output_processor cuts(parts.tokenizer.get(), what.stop);
  } catch (...) {
    result.why_not = detail::diagnostics_of(std::current_exception());
  }
  return result;
}

}  // namespace cogen
