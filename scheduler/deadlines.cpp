#include "deadlines.hpp"

#include <cogen/scheduler/deadline_unreachable.hpp>

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// Tokens that will run until its run ends, as far as can be estimated.
double expected(const state& sched, const sequence& seq) {
  const auto left = static_cast<double>(seq.samples_left());
  if (left == 0) return seq.work();
  const int sampled = seq.sampled + seq.current.unknown - seq.current.sampled_before;
  return seq.work() + std::clamp(sched.measured.samples() - sampled, 1., left) - 1;
}

double expected_before(const state& sched, const ordered_queue& queued, const candidate& seq) {
  double tokens = 0;
  for (const auto* other : queued.sequences()) {
    if (!sched.policy.precedes(seq, other->queued_as))
      tokens += expected(sched, *other);
    else if (!queued.divided())
      break;
  }
  return tokens;
}

double tokens_until_end(const state& sched, const sequence& seq) {
  const auto candidate = seq.as_candidate();
  double tokens = expected(sched, seq);
  for (const auto* running : sched.queued.decoding) tokens += expected(sched, *running);
  tokens += expected_before(sched, sched.queued.prefilling, candidate);
  return tokens + expected_before(sched, sched.queued.waiting, candidate);
}

}  // namespace

void refuse_unreachable(const state& sched, const sequence& seq) {
  const auto deadline = seq.options.deadline;
  if (deadline == time::max() || !sched.policy.refuses_late()) return;
  const auto pace = sched.measured.per_token();
  if (!pace) return;
  const auto tokens = tokens_until_end(sched, seq);
  const auto refusal = [&] { return deadline_unreachable(seq.current.asked, deadline, tokens, *pace); };
  if (refusal().estimate() > deadline) throw refusal();
}

}  // namespace cogen::scheduler
