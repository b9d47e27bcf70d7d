#include "engine/stream/draft_proposals.hpp"

#include <cogen/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace cogen::detail {
namespace {

[[noreturn]] void threw(std::string_view message) {
  throw generation_error({error::callback_threw, fmt::format("the drafter threw: {}", message)});
}

}  // namespace

draft_proposals::draft_proposals(speculative_options options, const draft_target& request)
    : options_(std::move(options)), vocabulary_(request.vocabulary) {
  if (!options_.drafter) return;
  if (auto own = options_.drafter->begin(request)) options_.drafter = std::move(own);
}

std::vector<token> draft_proposals::after(std::span<const token> history, int count, token predicted) {
  if (!any()) return {};
  auto drafts = drafted_after(history, count, predicted);
  drafts.resize(std::min(drafts.size(), static_cast<std::size_t>(options_.max_draft_tokens)));
  for (const token id : drafts)
    if (id < 0 || id >= vocabulary_)
      throw generation_error(
          {error::invalid_request,
           fmt::format("the drafter proposed token {}; the vocabulary ends at {}", id, vocabulary_ - 1)});
  return drafts;
}

std::vector<token> draft_proposals::drafted_after(std::span<const token> history, int count, token predicted) try {
  options_.drafter->accept(history, count);
  return options_.drafter->draft(history, std::span(&predicted, predicted < 0 ? 0 : 1), options_.max_draft_tokens);
} catch (const std::exception& thrown) {
  threw(thrown.what());
} catch (...) {
  threw("an exception of unknown type");
}

}  // namespace cogen::detail
