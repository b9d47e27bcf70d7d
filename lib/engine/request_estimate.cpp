#include "engine/request_estimate.hpp"

#include "engine/checked_request.hpp"
#include "engine/engine_loop.hpp"
#include "engine/runner/diagnostics_of.hpp"
#include "engine/token_filter.hpp"
#include "formats/text/stop_matcher.hpp"
#include "sampling/sampler.hpp"

#include <exception>
#include <memory>

namespace cogen::detail {
namespace {

/// Throws what guide_of() throws.
void check_guide(const std::shared_ptr<engine_loop>& loop, const request& request, const read_request& inputs) {
  const auto check = [&](grammar::work_watch* watch) {
    guide_of(request, inputs, loop->parts(), loop->formats(), loop->responses(), watch);
  };
  if (!may_compile(request, loop->formats())) return check(nullptr);
  std::exception_ptr wrong;
  loop->compilations().run(request.tenant, [&, owner = loop](grammar::work_watch& watch) {
    try {
      check(&watch);
    } catch (...) {
      wrong = std::current_exception();
    }
  });
  if (wrong) std::rethrow_exception(wrong);
}

}  // namespace

request_estimate estimate_of(const std::shared_ptr<engine_loop>& loop, const request& request) {
  const auto& parts = loop->parts();
  request_estimate result;
  const auto may_hold = [&](int tokens) {
    result.max_length = tokens;
    result.cache_bytes = parts.limits.usage(tokens);
  };
  try {
    check_parameters(request, loop->vocabulary());
    const auto inputs = read(request, parts, loop->responses().syntax(), loop->vocabulary());
    result.prompt_tokens = static_cast<int>(inputs.prompt.size());
    if (inputs.encoder_input) result.encoder_tokens = static_cast<int>(inputs.encoder_input->size());
    may_hold(result.prompt_tokens + 1);
    may_hold(result.prompt_tokens + new_tokens_after(result.prompt_tokens, request, parts.limits));
    const sampler sampling(request.sampling, loop->vocabulary(), end_tokens_of(request, parts));
    const token_filter filter(request, parts.tokenizer.get(), loop->vocabulary());
    check_guide(loop, request, inputs);
    const text::stop_matcher cuts(request.stop);
  } catch (...) {
    result.why_not = diagnostics_of(std::current_exception());
  }
  return result;
}

}  // namespace cogen::detail
