#include "deadlines.hpp"

#include <cogen/scheduler/deadline_unreachable.hpp>

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// Tokens that will run until its run ends, as far as can be estimated.
double expected(const state& all, const sequence& seq) {
  const auto left = static_cast<double>(seq.samples_left());
  if (left == 0) return seq.work();
  const int sampled = seq.sampled + seq.current.unknown - seq.current.sampled_before;
  return seq.work() + std::clamp(all.measured.samples() - sampled, 1., left) - 1;
}

double expected_before(const state& all, const ordered_queue& queued, const candidate& seq) {
  double tokens = 0;
  for (const auto* each : queued.all()) {
    if (!all.policy.before(seq, each->queued_as))
      tokens += expected(all, *each);
    else if (!queued.divided())
      break;
  }
  return tokens;
}

double tokens_until_end(const state& all, const sequence& seq) {
  const auto candidate = seq.as_candidate();
  double tokens = expected(all, seq);
  for (const auto* each : all.queued.decoding) tokens += expected(all, *each);
  tokens += expected_before(all, all.queued.prefilling, candidate);
  return tokens + expected_before(all, all.queued.waiting, candidate);
}

}  // namespace

void refuse_unreachable(const state& all, const sequence& seq) {
  const auto deadline = seq.options.deadline;
  if (deadline == time::max() || !all.policy.refuses_late()) return;
  const auto pace = all.measured.per_token();
  if (!pace) return;
  const auto tokens = tokens_until_end(all, seq);
  const auto refusal = [&] { return deadline_unreachable(seq.current.asked, deadline, tokens, *pace); };
  if (refusal().estimate() > deadline) throw refusal();
}

}  // namespace cogen::scheduler
