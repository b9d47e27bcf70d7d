#include "engine/parts/rank_agreement.hpp"

#include "engine/runner/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::detail {

namespace {

/// Passes the limits that depend on the layers which a rank has.
template <class Limits, class Pass>
void pass_limits(Limits& limits, const Pass& pass) {
  pass(limits.max_sequence_length), pass(limits.max_rollback_tokens), pass(limits.max_dropped_drafts);
  for (auto* usage : {&limits.usage, &limits.checkpoint_usage})
    pass(usage->fixed), pass(usage->per_block), pass(usage->block), pass(usage->capped);
}

/// Slots take memory on each rank; the one where they take the most decides how many there are.
void take_larger(slot_footprint& own, const slot_footprint& other, int length) {
  if (other(length) > own(length)) own = other;
}

void take_narrower(scheduler::limits& own, const scheduler::limits& other) {
  own.max_sequence_length = std::min(own.max_sequence_length, other.max_sequence_length);
  own.max_rollback_tokens = std::min(own.max_rollback_tokens, other.max_rollback_tokens);
  own.max_dropped_drafts = std::min(own.max_dropped_drafts, other.max_dropped_drafts);
  take_larger(own.usage, other.usage, own.max_sequence_length);
  take_larger(own.checkpoint_usage, other.checkpoint_usage, own.max_sequence_length);
}

void lead(scheduler::limits& limits, parallel::rank_group& ranks, const std::string& settings) {
  std::vector<std::byte> message;
  message_writer(message).add(settings);
  ranks.tell(message);
  for (const auto& answer : ranks.answers()) {
    message_reader reader(answer);
    if (const auto why = reader.read<std::string>(); !why.empty()) throw std::invalid_argument(why);
    scheduler::limits other;
    pass_limits(other, [&](auto& value) { reader.read(value); });
    take_narrower(limits, other);
  }
}

void follow(const scheduler::limits& limits, parallel::rank_group& ranks, const std::string& settings) {
  const auto told = ranks.listen();
  const auto of_rank_0 = message_reader(told).read<std::string>();
  std::string why;
  if (of_rank_0 != settings)
    why = fmt::format("engine_options differ between ranks: rank 0 has {}; rank {} has {}", of_rank_0, ranks.rank(),
                      settings);
  std::vector<std::byte> message;
  message_writer writer(message);
  writer.add(why);
  pass_limits(limits, [&](const auto& value) { writer.add(value); });
  ranks.answer(message);
  if (!why.empty()) throw std::invalid_argument(why);
}

/// A number, or why there is none.
struct finding {
  int number = 0;
  std::string why;
};

finding found_by(const std::function<int()>& find) {
  try {
    return {find(), {}};
  } catch (const std::invalid_argument& error) {
    return {0, error.what()};
  }
}

std::vector<std::byte> written(const finding& result) {
  std::vector<std::byte> message;
  message_writer writer(message);
  writer.add(result.number), writer.add(result.why);
  return message;
}

finding read_finding(std::span<const std::byte> message) {
  message_reader reader(message);
  const auto number = reader.read<int>();
  return {number, reader.read<std::string>()};
}

}  // namespace

int agree_on_least(parallel::rank_group& ranks, const std::function<int()>& find) {
  auto least = found_by(find);
  if (ranks.leads()) {
    for (const auto& answer : ranks.answers()) {
      auto other = read_finding(answer);
      if (least.why.empty() && (!other.why.empty() || other.number < least.number)) least = std::move(other);
    }
    ranks.tell(written(least));
  } else {
    ranks.answer(written(least));
    least = read_finding(ranks.listen());
  }
  if (!least.why.empty()) throw std::invalid_argument(least.why);
  return least.number;
}

void agree(scheduler::limits& limits, parallel::rank_group& ranks, const std::string& settings) {
  ranks.leads() ? lead(limits, ranks, settings) : follow(limits, ranks, settings);
}

}  // namespace cogen::detail
