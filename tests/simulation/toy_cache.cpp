#include "simulation/toy_cache.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace cogen::scheduler::toy {
namespace {

void require(bool holds, const char* message, int slot) {
  if (!holds) throw std::logic_error("toy cache, slot " + std::to_string(slot) + ": " + message);
}

}  // namespace

cache::cache(const limits& within, const ring& rings)
    : within_(within), rings_(rings), slots_(static_cast<std::size_t>(within.all_slots())) {}

cache::storage& cache::slot_at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
const cache::storage& cache::slot_at(int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }

int cache::length(int slot) const { return slot_at(slot).shared + static_cast<int>(slot_at(slot).own.size()); }

std::vector<token> cache::content(int slot) const {
  std::vector<token> result;
  if (slot_at(slot).parent >= 0) {
    const auto& read = slot_at(slot_at(slot).parent).own;
    require(slot_at(slot).shared <= static_cast<int>(read.size()), "it reads more of its base than there is", slot);
    result.assign(read.begin(), read.begin() + slot_at(slot).shared);
  }
  result.insert(result.end(), slot_at(slot).own.begin(), slot_at(slot).own.end());
  return result;
}

std::int64_t cache::bytes() const {
  std::int64_t sum = 0;
  for (int slot = 0; slot < within_.all_slots(); ++slot)
    if (length(slot) > 0)
      sum += within_.usage(length(slot)) - within_.usage.per_block * (slot_at(slot).shared / within_.usage.block);
  return sum;
}

std::int64_t cache::checkpoint_bytes() const {
  std::int64_t sum = 0;
  for (const auto& slot : slots_)
    for (const auto& [length, oldest] : slot.checkpoints) sum += within_.checkpoint_usage(length);
  return sum;
}

bool cache::needs_checkpoint(int slot, int length) const {
  const bool near = is_near(slot_at(slot), length) || drops_to(slot, length);
  return length > 0 && (!near || !holds(slot, length));
}

bool cache::is_near(const storage& seq, int length) const {
  return length >= std::int64_t{seq.high_water_mark} - within_.max_rollback_tokens;
}

bool cache::drops_to(int slot, int length) const { return length >= this->length(slot) - slot_at(slot).drafts; }

int cache::longest_reader(int slot) const {
  int longest = 0;
  for (const auto& each : slots_)
    if (each.parent == slot) longest = std::max(longest, each.shared);
  return longest;
}

void cache::apply(const step& step) {
  for (const swap_id name : step.drops) require(kept_.erase(name) == 1, "what is dropped is not kept", -1);
  for (const int slot : step.clears) clear(slot);
  for (const auto& each : step.truncations) truncate(each);
  for (const auto& each : step.releases) release(each);
  for (const auto& each : step.forks) fork(each);
  for (const auto& each : step.dropped_checkpoints) slot_at(each.slot).checkpoints.erase(each.length);
  for (const auto& each : step.checkpoints)
    if (!each.failed) take(each);
  require(checkpoint_bytes() <= within_.checkpoint_bytes, "checkpoints take more than they may", -1);
  for (const auto& each : step.swap_outs) begin(each);
  for (const auto& each : step.swap_ins) begin(each);
}

void cache::begin(const swapping_out& begun) {
  require_still(begun.slot);
  require(begun.length > 0 && begun.length == length(begun.slot), "another length is swapped out than it has",
          begun.slot);
  const auto& source = slot_at(begun.slot);
  require(!source.released, "it was released and is swapped out", begun.slot);
  require(!transfers_.contains(begun.name) && !kept_.contains(begun.name), "a name is used again", begun.slot);
  const bool alters = !begun.is_copy && !within_.exact_swaps;
  transfers_[begun.name] = {begun.slot,
                            false,
                            {.tokens = content(begun.slot),
                             .encoder_input = source.encoder_input,
                             .high_water_mark = source.high_water_mark,
                             .oldest = oldest_in_snapshot(begun.slot),
                             .altered = source.altered || alters,
                             .bytes = begun.is_copy ? 0 : within_.swapped_out(begun.length)}};
  slot_at(begun.slot).moving = true;
}

void cache::begin(const swapping_in& begun) {
  require_still(begun.slot);
  require(length(begun.slot) == 0 && slot_at(begun.slot).encoder_input.empty(), "it is restored and not empty",
          begun.slot);
  require(kept_.contains(begun.name), "what is restored is not kept", begun.slot);
  auto entry = std::move(kept_.extract(begun.name).mapped());
  require(begun.length == static_cast<int>(entry.tokens.size()), "another length is restored", begun.slot);
  transfers_[begun.name] = {begun.slot, true, std::move(entry)};
  slot_at(begun.slot).moving = slot_at(begun.slot).filling = true;
}

void cache::keep(swap_id name, snapshot content, bool is_prefix) {
  require(!transfers_.contains(name) && !kept_.contains(name), "a name is used again", -1);
  content.bytes = is_prefix ? 0 : within_.usage(static_cast<std::int64_t>(content.tokens.size()));
  kept_[name] = std::move(content);
}

std::vector<swap_id> cache::on_their_way() const {
  std::vector<swap_id> names;
  for (const auto& [name, transfer] : transfers_) names.push_back(name);
  return names;
}

void cache::end(swap_id name, bool ok) {
  auto ended = std::move(transfers_.extract(name).mapped());
  auto& slot = slot_at(ended.slot);
  slot.moving = slot.filling = false;
  if (!ended.swap_ins) {
    require(content(ended.slot) == ended.entry.tokens, "it has changed while it was swapped out", ended.slot);
    if (ok) kept_[name] = std::move(ended.entry);
    return;
  }
  require(length(ended.slot) == 0, "it has been filled while it was restored", ended.slot);
  if (!ok) return;
  slot.own = std::move(ended.entry.tokens);
  slot.encoder_input = std::move(ended.entry.encoder_input);
  slot.high_water_mark = ended.entry.high_water_mark;
  slot.oldest = ended.entry.oldest;
  slot.altered = ended.entry.altered;
}

std::int64_t cache::swapped_bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, entry] : kept_) sum += entry.bytes;
  for (const auto& [name, transfer] : transfers_) sum += transfer.entry.bytes;
  return sum;
}

void cache::require_still(int slot) const { require(!slot_at(slot).moving, "a transfer reads or fills it", slot); }

void cache::require_filled(int slot) const { require(!slot_at(slot).filling, "a transfer still fills it", slot); }

void cache::read(int slot, const std::vector<token>& encoder_input) {
  require(length(slot) == 0, "it reads an encoder input and holds tokens", slot);
  require(slot_at(slot).encoder_input.empty(), "it reads an encoder input and has one", slot);
  slot_at(slot).encoder_input = encoder_input;
}

bool cache::holds(int slot, int length) const {
  const int needed = rings_.first_needed(length);
  return needed >= slot_at(slot).oldest || needed >= length;
}

/// What a slot can go back to, it can when it is filled from its snapshot.
int cache::oldest_in_snapshot(int slot) const {
  if (!ever_full()) return slot_at(slot).oldest;
  return std::max(slot_at(slot).oldest, rings_.first_needed(std::max(0, length(slot) - rings_.max_rollback_tokens)));
}

void cache::append(int slot, std::span<const token> tokens, int drafts) {
  require(!ever_full() || static_cast<int>(tokens.size()) <= rings_.max_step_tokens, "its rings have no room", slot);
  require(holds(slot, length(slot)), "its rings no longer hold what comes before", slot);
  add(slot, tokens);
  slot_at(slot).drafts = std::min(drafts, within_.max_dropped_drafts);
  if (ever_full()) slot_at(slot).oldest = std::max(slot_at(slot).oldest, length(slot) - rings_.tokens());
}

void cache::add(int slot, std::span<const token> tokens) {
  require_still(slot);
  slot_at(slot).own.insert(slot_at(slot).own.end(), tokens.begin(), tokens.end());
  slot_at(slot).high_water_mark = std::max(slot_at(slot).high_water_mark, length(slot));
  require(length(slot) <= within_.max_sequence_length, "it holds more than it may", slot);
}

void cache::require_return(int slot, int length) const {
  require(!slot_at(slot).released, "it was released and shall go on", slot);
  if (slot_at(slot).checkpoints.contains(length)) return;
  require(length == 0 || is_near(slot_at(slot), length) || drops_to(slot, length), "it cannot go back that far", slot);
  require(length == 0 || holds(slot, length), "its rings no longer hold what it would go back to", slot);
}

void cache::take(const checkpoint& taken) {
  require_still(taken.slot);
  require(taken.length > 0 && taken.length == length(taken.slot), "a checkpoint is not at its length", taken.slot);
  require(!slot_at(taken.slot).released, "a checkpoint of what cannot go on", taken.slot);
  slot_at(taken.slot).checkpoints[taken.length] = oldest_in_snapshot(taken.slot);
}

/// The slot continues the first `length` tokens of another one, or its own.
void cache::go_on_from(storage& seq, int slot, int length) {
  const auto& source = slot_at(slot);
  const bool near = is_near(source, length);
  const int oldest = holds(slot, length) ? source.oldest : source.checkpoints.at(length);
  seq.high_water_mark = near ? source.high_water_mark : length + within_.max_rollback_tokens;
  seq.oldest = oldest;
}

void cache::release(const cogen::scheduler::release& rest) {
  require_still(rest.slot);
  require(rest.length >= longest_reader(rest.slot), "it is released while others read more", rest.slot);
  slot_at(rest.slot).checkpoints.clear();
  slot_at(rest.slot).drafts = 0;
  slot_at(rest.slot).released = within_.max_rollback_tokens < std::numeric_limits<int>::max();
  slot_at(rest.slot).oldest =
      ever_full() ? std::numeric_limits<int>::max() : std::min(slot_at(rest.slot).oldest, rest.length);
  if (rest.length == 0) slot_at(rest.slot).encoder_input.clear();
  slot_at(rest.slot).own.resize(static_cast<std::size_t>(std::max(0, rest.length - slot_at(rest.slot).shared)));
}

void cache::clear(int slot) {
  require_still(slot);
  require(longest_reader(slot) == 0, "it is cleared while others read it", slot);
  require(length(slot) > 0, "it is cleared and already empty", slot);
  slot_at(slot) = {};
}

void cache::truncate(const truncation& cut) {
  require_still(cut.slot);
  require(cut.length >= 0 && cut.length < length(cut.slot), "it is cut to more than it holds", cut.slot);
  require(cut.length >= longest_reader(cut.slot), "it is cut while others read more", cut.slot);
  require_return(cut.slot, cut.length);
  if (cut.length > 0) go_on_from(slot_at(cut.slot), cut.slot, cut.length);
  slot_at(cut.slot).drafts = std::max(0, slot_at(cut.slot).drafts - (length(cut.slot) - cut.length));
  auto kept = content(cut.slot);
  kept.resize(static_cast<std::size_t>(cut.length));
  auto& seq = slot_at(cut.slot);
  if (cut.length < seq.shared) seq.shared = cut.length / within_.usage.block * within_.usage.block;
  if (seq.shared == 0) seq.parent = -1;
  seq.own.assign(kept.begin() + seq.shared, kept.end());
  seq.oldest = std::min(seq.oldest, cut.length);
  seq.checkpoints.erase(seq.checkpoints.upper_bound(cut.length), seq.checkpoints.end());
  if (cut.length > 0) return;
  seq.high_water_mark = 0;
  seq.altered = false;
  seq.encoder_input.clear();
}

void cache::fork(const slot_fork& begun) {
  require_still(begun.slot);
  require_filled(begun.source);
  require(length(begun.slot) == 0, "it begins as a fork and is not empty", begun.slot);
  require(begun.slot != begun.source, "it begins with itself", begun.slot);
  require(begun.end > 0 && begun.end <= length(begun.source), "a fork takes what there is not", begun.source);
  require_return(begun.source, begun.end);
  require((begun.parent >= 0) == (begun.shared > 0), "a fork shares nothing, and has a base", begun.slot);
  if (begun.shared > 0) check_base(begun);
  auto& filled = slot_at(begun.slot);
  filled.parent = begun.parent;
  filled.shared = begun.shared;
  filled.encoder_input = slot_at(begun.source).encoder_input;
  filled.altered = slot_at(begun.source).altered;
  const auto read = content(begun.source);
  add(begun.slot,
      std::span(read).subspan(0, static_cast<std::size_t>(begun.end)).subspan(static_cast<std::size_t>(begun.shared)));
  go_on_from(filled, begun.source, begun.end);
}

void cache::check_base(const slot_fork& begun) const {
  const auto& base = slot_at(begun.parent);
  require_filled(begun.parent);
  require(begun.slot != begun.parent, "it is its own base", begun.slot);
  require(base.parent < 0, "it becomes a base and has one", begun.parent);
  require(begun.shared % within_.usage.block == 0, "it shares part of a block", begun.slot);
  require(begun.shared <= begun.end, "it shares more than it holds", begun.slot);
  require(begun.shared <= length(begun.parent), "others shall read what it does not hold", begun.parent);
  const auto own = content(begun.source), shared = content(begun.parent);
  require(std::equal(shared.begin(), shared.begin() + begun.shared, own.begin()),
          "a base differs from its reader's source", begun.parent);
  require(base.encoder_input == slot_at(begun.source).encoder_input, "a base has another encoder input", begun.parent);
}

}  // namespace cogen::scheduler::toy
