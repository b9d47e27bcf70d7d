#include "sequence.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {

queue_nodes::queue_nodes() {
  run_order runs{by_order{}};
  ordered = runs.extract(runs.insert(nullptr));
  std::set<sequence*> leaders{nullptr};
  leading = leaders.extract(leaders.begin());
}

void queue_nodes::name(sequence* seq) {
  ordered.value() = seq;
  leading.value() = seq;
  unordered.front() = seq;
  unchanged.front() = seq;
}

int sequence::work() const {
  const auto encoder_input = unread();
  return remaining() + (encoder_input ? static_cast<int>(encoder_input->size()) : 0);
}

std::int64_t sequence::room() const {
  const auto new_tokens = std::int64_t{options.max_new_tokens} - sampled - current.unknown;
  return std::min<std::int64_t>(new_tokens, capacity - length() - current.unknown);
}

std::int64_t sequence::samples_left() const {
  return current.wanted == output::sample ? std::min(current.samples, room()) : 0;
}

candidate sequence::as_candidate() const {
  const auto fed_again = std::max<std::int64_t>(0, samples_left() - 1);
  return {.sequence = id,
          .arrival = current.arrival,
          .asked = current.asked,
          .tokens = work(),
          .most = work() + fed_again,
          .priority = options.priority,
          .tenant = options.tenant,
          .deadline = options.deadline};
}

bool sequence::ready() const {
  if (!running || remaining() == 0 || in_transfer()) return false;
  return current.wanted != output::sample || std::min({current.credits, current.samples, room()}) > 0;
}

bool sequence::ends_with(token sampled_token) const {
  return std::binary_search(options.end_tokens.begin(), options.end_tokens.end(), sampled_token);
}

void sequence::check(const run& next) const {
  if (next.wanted == output::nothing) throw std::invalid_argument("a run must want logits or tokens");
  if (next.credits < 0)
    throw std::invalid_argument("run.credits is " + std::to_string(next.credits) + "; it must be at least 0");
  if (next.samples < 1)
    throw std::invalid_argument("run.samples is " + std::to_string(next.samples) + "; it must be at least 1");
  if (next.scores_prompt && next.wanted != output::sample)
    throw std::invalid_argument("only a run that samples may score its prompt");
  if (!next.checkpoints.empty() && (next.checkpoints[0] < 1 || !std::ranges::is_sorted(next.checkpoints)))
    throw std::invalid_argument("run.checkpoints must ascend from 1 or more");
  if (tokens.empty() && next.tokens.empty()) throw std::invalid_argument("an empty sequence has no token to run");
  if (next.tokens.size() > static_cast<std::size_t>(capacity - length()))
    throw std::length_error("the sequence would hold " + std::to_string(tokens.size() + next.tokens.size()) +
                            " tokens; it may hold " + std::to_string(capacity));
}

void sequence::begin(run&& next, std::uint64_t arrival, time asked) {
  const int previous = length();
  tokens.append(next.tokens);
  current = {next.wanted, arrival,  asked,   next.credits, next.samples,
             0,           previous, sampled, length(),     next.scores_prompt};
  cached = std::min(cached, length() - 1);
  if (next.wanted == output::sample && room() == 0) current.wanted = output::nothing;
  checkpoints = std::move(next.checkpoints);
  std::erase_if(checkpoints, [&](int length) { return length >= current.length_fed; });
  running = true;
}

void sequence::end() {
  running = false;
  current.unknown = 0;
  current.late.reset();
  keep(length());
}

void sequence::undo() {
  sampled = current.sampled_before;
  keep(current.length_before);
}

void sequence::keep(int length) {
  tokens.truncate(static_cast<std::size_t>(length));
  drafts.clear();
  cached = std::min(cached, length);
  if (branch > length) branch = 0;
  std::erase_if(checkpoints, [&](int point) { return point > length; });
}

}  // namespace cogen::scheduler
