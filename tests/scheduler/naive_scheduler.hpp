#pragma once

#include <cogen/scheduler/scheduler.hpp>

#include <algorithm>
#include <deque>
#include <map>

namespace cogen::scheduler {

/// The specification of what one sequence gets: one sequence at a time, from its first token to its last, in one slot.
/// Every run has all the credits it wants.
class naive_scheduler {
 public:
  explicit naive_scheduler(const limits& within) : within_(within) {}

  sequence_id submit(const sequence_options& options, run first) {
    const sequence_id id{++ids_};
    queue_.push_back({id, options, std::move(first), 0, 0});
    return id;
  }

  step next() {
    step result;
    if (queue_.empty()) return result;
    auto& [id, options, work, cached, sampled] = queue_.front();
    if (cached == 0 && ids_cleared_++ > 0) result.clears.push_back(0);
    const auto left = static_cast<int>(work.tokens.size()) - cached;
    const int most = work.wanted == output::all_logits ? within_.max_all_logits_tokens : left;
    const int count = std::min({left, most, within_.max_batched_tokens});
    const auto begin = work.tokens.begin() + cached;
    const bool wants = count == left || work.wanted == output::all_logits;
    result.number = ++plans_;
    result.rows = {{id, 0, count, wants ? work.wanted : output::nothing, false, 0, count > 1}};
    result.tokens.assign(begin, begin + count);
    if (result.rows[0].wanted == output::sample) result.sampled = {-1};
    if (cached == 0) result.rows[0].encoder_input = options.encoder_input;
    cached += count;
    return result;
  }

  std::span<const event> absorb(step& done) {
    auto& events = done.events;
    auto& [id, options, work, cached, sampled] = queue_.front();
    const bool last = cached == static_cast<int>(work.tokens.size());
    const auto wanted = done.rows.front().wanted;
    const auto logits = wanted == output::last_logits || wanted == output::all_logits;
    if (logits) events.push_back({.type = event::kind::logits, .sequence = id, .row = 0, .last = last});
    if (wanted == output::sample) {
      const token chosen = done.sampled_of(done.rows.front());
      const auto& ends = options.end_tokens;
      const bool end = std::find(ends.begin(), ends.end(), chosen) != ends.end();
      events.push_back({.type = event::kind::token, .sequence = id, .row = 0});
      if (!end) work.tokens.push_back(chosen);
      const bool full = static_cast<int>(work.tokens.size()) == within_.max_sequence_length;
      if (!end && ++sampled < options.max_new_tokens && !full) return events;
      const auto reason = end ? finish::end_token : finish::length;
      events.push_back({.type = event::kind::finished, .sequence = id, .row = 0, .reason = reason});
    }
    if (wanted == output::sample || (logits && last)) queue_.pop_front();
    return events;
  }

 private:
  struct job {
    sequence_id id;
    sequence_options options;
    run work;
    int cached;
    int sampled;
  };

  const limits within_;
  std::deque<job> queue_;
  std::uint64_t ids_ = 0;
  std::uint64_t plans_ = 0;
  int ids_cleared_ = 0;
};

}  // namespace cogen::scheduler
