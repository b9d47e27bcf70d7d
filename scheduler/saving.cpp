#include "saving.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

void check(const image& of, int tokens) {
  if (of.cached >= 1 && of.cached <= tokens && of.cached <= of.length && of.length <= of.reach) return;
  throw std::invalid_argument("an image of " + std::to_string(of.length) + " tokens that reached " +
                              std::to_string(of.reach) + " cannot have " + std::to_string(of.cached) + " of the " +
                              std::to_string(tokens) + " tokens of a sequence");
}

}  // namespace

kept_image image_of(const sequence& whose) {
  return {whose.away->name, {whose.away->length, whose.cached, whose.away->reach, whose.away->exact}};
}

kept_image copy_out(machine& all, sequence& whose) {
  const slot& from = all.slots[whose.slot];
  const auto name = all.spilled.copy_out(whose.id, whose.slot, from.length);
  whose.away = {name, away::stage::copied, from.length, from.reach};
  all.slots.begin_transfer(whose.slot);
  all.queued.place(whose);
  return image_of(whose);
}

void give_past(sequence& added, past&& before) {
  const auto tokens = static_cast<int>(before.tokens.size());
  if (tokens > added.capacity)
    throw std::length_error("the sequence holds " + std::to_string(tokens) + " tokens; it may hold " +
                            std::to_string(added.capacity));
  if (before.sampled < 0)
    throw std::invalid_argument("sampled is " + std::to_string(before.sampled) + "; it must be at least 0");
  if (before.image) check(*before.image, tokens);
  added.tokens = std::move(before.tokens);
  added.sampled = before.sampled;
  added.exact = before.exact;
  if (!before.image || before.image->length > added.capacity) return;
  added.cached = before.image->cached;
  added.away = {ticket{}, away::stage::stored, before.image->length, before.image->reach, before.image->exact};
}

void take_in_image(machine& all, sequence& whose) {
  auto stored = std::exchange(whose.away, std::nullopt);
  const int cached = std::exchange(whose.cached, 0);
  if (!stored || all.within.spill_bytes == 0) return;
  const auto bytes = all.within.usage(stored->length);
  if (!all.spilled.fits(bytes)) return;
  stored->name = all.spilled.take_in(bytes);
  whose.away = stored;
  whose.cached = cached;
}

}  // namespace cogen::scheduler
