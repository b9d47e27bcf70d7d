#include "engine/stream/draft_proposals.hpp"

#include <cogen/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace cogen::detail {
namespace {

[[noreturn]] void threw(std::string_view what) {
  throw generation_error({error::callback_threw, fmt::format("the drafter threw: {}", what)});
}

}  // namespace

draft_proposals::draft_proposals(speculative_options how, const draft_target& request)
    : how_(std::move(how)), vocabulary_(request.vocabulary) {
  if (!how_.drafter) return;
  if (auto own = how_.drafter->begin(request)) how_.drafter = std::move(own);
}

std::vector<token> draft_proposals::after(std::span<const token> history, int count, token predicted) {
  if (!any()) return {};
  auto drafts = drafted_after(history, count, predicted);
  drafts.resize(std::min(drafts.size(), static_cast<std::size_t>(how_.max_draft_tokens)));
  for (const token id : drafts)
    if (id < 0 || id >= vocabulary_)
      throw generation_error(
          {error::invalid_request,
           fmt::format("the drafter proposed token {}; the vocabulary ends at {}", id, vocabulary_ - 1)});
  return drafts;
}

std::vector<token> draft_proposals::drafted_after(std::span<const token> history, int count, token predicted) try {
  how_.drafter->accept(history, count);
  return how_.drafter->draft(history, std::span(&predicted, predicted < 0 ? 0 : 1), how_.max_draft_tokens);
} catch (const std::exception& thrown) {
  threw(thrown.what());
} catch (...) {
  threw("an exception of unknown type");
}

}  // namespace cogen::detail
