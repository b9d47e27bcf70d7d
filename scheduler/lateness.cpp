#include "lateness.hpp"

#include <cogen/scheduler/too_late.hpp>

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// Tokens that will be run until its run ends, as far as can be told.
double expected(const machine& all, const sequence& whose) {
  const auto left = static_cast<double>(whose.samples_left());
  if (left == 0) return whose.work();
  const int sampled = whose.sampled + whose.current.unknown - whose.current.sampled_before;
  return whose.work() + std::clamp(all.measured.samples() - sampled, 1., left) - 1;
}

double expected_before(const machine& all, const ordered_queue& queued, const candidate& whose) {
  double tokens = 0;
  for (const auto* each : queued.all()) {
    if (!all.policy->before(whose, each->queued_as))
      tokens += expected(all, *each);
    else if (!queued.divided())
      break;
  }
  return tokens;
}

double tokens_until_end(const machine& all, const sequence& whose) {
  const auto candidate = whose.as_candidate();
  double tokens = expected(all, whose);
  for (const auto* each : all.queued.decoding) tokens += expected(all, *each);
  tokens += expected_before(all, all.queued.prefilling, candidate);
  return tokens + expected_before(all, all.queued.waiting, candidate);
}

}  // namespace

void refuse_late(const machine& all, const sequence& whose) {
  const auto deadline = whose.options.deadline;
  if (deadline == time::max() || !all.policy->refuses_late()) return;
  const auto pace = all.measured.per_token();
  if (!pace) return;
  const auto tokens = tokens_until_end(all, whose);
  const auto refusal = [&] { return too_late(whose.current.asked, deadline, tokens, *pace); };
  if (refusal().estimate() > deadline) throw refusal();
}

}  // namespace cogen::scheduler
