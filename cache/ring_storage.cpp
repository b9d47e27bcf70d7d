#include "ring_storage.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

int whole_blocks(int tokens) { return tokens / block_tokens * block_tokens; }

}  // namespace

int ring_shape::first_needed(int length) const {
  const int seen = first_seen(span, length);
  return newest < 0 ? seen : std::max(seen, static_cast<int>(quantized_tokens(length, newest)));
}

int ring_shape::blocks() const {
  std::int64_t behind = std::int64_t{1} << 31;
  if (span.window > 0) behind = std::min<std::int64_t>(behind, span.window - 1);
  if (span.chunk > 0) behind = std::min<std::int64_t>(behind, span.chunk - 1);
  if (newest >= 0) behind = std::min<std::int64_t>(behind, std::int64_t{newest} + block_tokens - 1);
  const std::int64_t tokens = behind + max_step_tokens + max_rollback_tokens;
  return static_cast<int>(tokens / block_tokens + 2);  // the oldest and the newest may be in the middle of one
}

ring_storage::ring_storage(block_layout layout, const slot_table& table, int max_sequence_length,
                           const ring_shape& shape, std::optional<int> residual)
    : token_storage(std::move(layout), table, residual),
      max_sequence_length_(max_sequence_length),
      shape_(shape),
      ring_(std::min(shape.blocks(), blocks_for(max_sequence_length))),
      slot_stride_(product(ring_ + shape.blocks_kept(), layout_.stride)),
      memory_(product(table.slots(), slot_stride_)),
      states_(static_cast<std::size_t>(table.slots())),
      previous_(states_.size()) {}

bool ring_storage::ever_full() const noexcept { return ring_ < blocks_for(max_sequence_length_); }

int ring_storage::max_rollback_tokens() const noexcept {
  return ever_full() ? shape_.max_rollback_tokens : std::numeric_limits<int>::max();
}

int ring_storage::max_step_tokens() const noexcept {
  return ever_full() ? shape_.max_step_tokens : std::numeric_limits<int>::max();
}

std::byte* ring_storage::place(int slot, int index) const {
  return memory_.data() + slot * slot_stride_ + index * layout_.stride;
}

std::byte* ring_storage::block(int slot, int number) const {
  return number < shape_.blocks_kept() ? place(slot, number)
                                       : place(slot, shape_.blocks_kept() + (number - shape_.blocks_kept()) % ring_);
}

/// In stored tokens, the first that a slot of `length` needs.
int ring_storage::needed(int length) const {
  const int first = shape_.first_needed(length);
  return residual_ ? whole_blocks(first) : first;
}

/// The same of a slot that may go back by max_rollback_tokens() from there.
int ring_storage::oldest_needed(int length) const { return needed(std::max(0, length - max_rollback_tokens())); }

int ring_storage::ranges(int slot, int length, kv_range* output) const {
  table_.check(slot);
  const slot_state& ring = state(slot);
  const int room = std::min(blocks_for(ring.end) * block_tokens, max_sequence_length_);
  const int end = length < 0 ? length : stored(length);
  if (end < 0 || end > room)
    throw std::out_of_range("cache: " + std::to_string(length) + " tokens of slot " + std::to_string(slot) +
                            " are asked for, there is room for " + std::to_string(room));
  int count = 0;
  const int stays = shape_.blocks_kept() * block_tokens;
  if (std::min(stays, end) > 0) output[count++] = {.data = place(slot, 0), .begin = 0, .end = std::min(stays, end)};
  const int begin = std::max(stays, whole_blocks(ring.oldest));
  if (begin < end)
    output[count++] = {.data = place(slot, shape_.blocks_kept()),
                       .begin = begin,
                       .end = end,
                       .ring = ring_,
                       .first = shape_.blocks_kept()};
  return count;
}

void ring_storage::check_room(const step& step) const {
  for (const step_row& row : step.rows()) {
    const int length = table_.length(row.slot);
    if (std::int64_t{row.count} <=
        std::max<std::int64_t>(shape_.max_step_tokens, ring_ * std::int64_t{block_tokens} - length))
      continue;
    throw std::length_error("cache: slot " + std::to_string(row.slot) + " gets " + std::to_string(row.count) +
                            " tokens in one step, its rings leave room for " + std::to_string(shape_.max_step_tokens));
  }
}

void ring_storage::grow(int slot, int length) {
  slot_state& ring = state(slot);
  const int wanted = std::min(blocks_for(stored(length)), ring_ + shape_.blocks_kept());
  if (wanted <= ring.blocks) return;
  memory_.commit(place(slot, ring.blocks) - memory_.data(), (wanted - ring.blocks) * layout_.stride);
  ring.blocks = wanted;
}

void ring_storage::reserve(const step& step) {
  check_room(step);
  for (const step_row& row : step.rows()) previous_[static_cast<std::size_t>(row.slot)] = state(row.slot).blocks;
  try {
    for (const step_row& row : step.rows()) grow(row.slot, table_.length(row.slot) + row.count);
  } catch (...) {
    for (const step_row& row : step.rows()) {
      slot_state& ring = state(row.slot);
      const int previous = previous_[static_cast<std::size_t>(row.slot)];
      if (previous < ring.blocks)
        memory_.release(place(row.slot, previous) - memory_.data(), (ring.blocks - previous) * layout_.stride);
      ring.blocks = previous;
    }
    throw;
  }
  for (const step_row& row : step.rows()) {
    slot_state& ring = state(row.slot);
    ring.end = stored(table_.length(row.slot) + row.count);
    ring.oldest = std::max(ring.oldest, ring.end - ring_ * block_tokens);
  }
}

bool ring_storage::holds(int slot, int length) const {
  return needed(length) >= state(slot).oldest || needed(length) >= stored(length);
}

bool ring_storage::can_truncate(int slot, int length) const {
  return length == 0 || holds(slot, length) || state(slot).snapshots.has(length);
}

void ring_storage::shrink(int slot, int length) noexcept {
  slot_state& ring = state(slot);
  const int kept = std::min(ring.blocks, blocks_for(stored(length)));
  if (kept < ring.blocks) memory_.release(place(slot, kept) - memory_.data(), (ring.blocks - kept) * layout_.stride);
  ring.blocks = kept;
  ring.end = stored(length);
}

void ring_storage::truncate(int slot, int length) {
  slot_state& ring = state(slot);
  if (length > 0 && !holds(slot, length)) swap_in(slot, length, ring.snapshots.get(length).data());
  shrink(slot, length);
  ring.oldest = std::min(ring.oldest, stored(length));
  ring.snapshots.cut(length);
  if (length == 0) ring = {};
}

void ring_storage::release(int slot, int length) {
  if (!ever_full()) return truncate(slot, length);
  truncate(slot, 0);
  state(slot).oldest = std::numeric_limits<int>::max();
}

void ring_storage::copy(int source, int target, int begin, int end) {
  if (!holds(source, end)) return swap_in(target, end, state(source).snapshots.get(end).data());
  slot_state& filled = state(target);
  grow(target, end);
  const int first_held = std::max(state(source).oldest, stored(end) - ring_ * block_tokens);
  const int first = std::max(stored(begin), std::min(first_held, stored(end)));
  for (int number = first / block_tokens; number < blocks_for(stored(end)); ++number) {
    const int start = number * block_tokens;
    const int begins = std::max(first - start, 0), ends = std::min(block_tokens, stored(end) - start);
    if (ends - begins == block_tokens)
      std::copy_n(block(source, number), layout_.stride, block(target, number));
    else
      copy_tokens(layout_, block(source, number), block(target, number), begins, ends);
  }
  for (int number = begin / block_tokens; number < shape_.blocks_kept(); ++number)
    copy_tokens(layout_, block(source, number), block(target, number), begin, std::min(block_tokens, end));
  filled.end = stored(end);
  filled.oldest = std::max({filled.oldest, filled.end - ring_ * block_tokens, first > stored(begin) ? first : 0});
}

void ring_storage::take_checkpoint(int slot) {
  if (!ever_full()) return;
  const int length = table_.length(slot);
  snapshot_bytes bytes(static_cast<std::size_t>(saved_bytes(length)));
  save(slot, length, bytes.data());
  state(slot).snapshots.put(length, std::move(bytes));
}

ring_storage::saved_blocks ring_storage::saved(int length) const {
  const int end = blocks_for(stored(length));
  const int oldest = oldest_needed(length) / block_tokens;
  const int begin = std::clamp(std::max(oldest, shape_.blocks_kept()), 0, std::max(end, shape_.blocks_kept()));
  return {.first = shape_.blocks_kept() > 0 && length > 0, .begin = begin, .end = std::max(begin, end)};
}

std::int64_t ring_storage::saved_bytes(int length) const {
  return exported_prefix() + saved(length).count() * layout_.stride;
}

/// Calls `visit(number, place)` for each saved block; places start after the oldest position.
template <class Visit>
void ring_storage::each_saved(int length, Visit visit) const {
  std::int64_t place = exported_prefix();
  const auto next = [&](int number) {
    visit(number, place);
    place += layout_.stride;
  };
  const saved_blocks blocks = saved(length);
  if (blocks.first) next(0);
  for (int number = blocks.begin; number < blocks.end; ++number) next(number);
}

void ring_storage::save_oldest(int slot, std::byte* output) const {
  const std::int64_t oldest = state(slot).oldest;
  std::memcpy(output, &oldest, sizeof(oldest));
}

void ring_storage::save(int slot, int length, std::byte* output) const {
  save_oldest(slot, output);
  each_saved(length,
             [&](int number, std::int64_t place) { std::copy_n(block(slot, number), layout_.stride, output + place); });
}

void ring_storage::swap_in(int slot, int length, const std::byte* input) {
  make_ready(slot, length, input);
  each_saved(length,
             [&](int number, std::int64_t place) { std::copy_n(input + place, layout_.stride, block(slot, number)); });
}

/// For what was saved at this length, perhaps by somebody else: what the slot needs to go on is there.
void ring_storage::make_ready(int slot, int length, const std::byte* input) {
  grow(slot, length);
  std::int64_t oldest = 0;
  std::memcpy(&oldest, input, sizeof(oldest));
  slot_state& ring = state(slot);
  ring.end = stored(length);
  const auto from_there = static_cast<int>(std::clamp<std::int64_t>(oldest, 0, needed(length)));
  ring.oldest = std::max({from_there, oldest_needed(length), ring.end - ring_ * block_tokens});
}

std::int64_t ring_storage::exported_bytes(int length) const { return length == 0 ? 0 : saved_bytes(length); }

void ring_storage::export_slot(int slot, std::byte* output, std::vector<byte_copy>& later) const {
  if (table_.length(slot) == 0) return;
  save_oldest(slot, output);
  const auto bytes = static_cast<std::size_t>(layout_.stride);
  each_saved(table_.length(slot), [&](int number, std::int64_t place) {
    later.push_back({{block(slot, number), bytes}, {output + place, bytes}});
  });
}

void ring_storage::import_slot(int slot, int length, const std::byte* input, std::vector<byte_copy>& later) {
  make_ready(slot, length, input);
  const auto bytes = static_cast<std::size_t>(layout_.stride);
  each_saved(length, [&](int number, std::int64_t place) {
    later.push_back({{input + place, bytes}, {block(slot, number), bytes}});
  });
}

slot_footprint ring_storage::footprint_terms() const {
  return {.capped = {{.per_block = layout_.stride, .blocks = ring_ + shape_.blocks_kept()}}};
}

std::int64_t ring_storage::committed_bytes() const {
  std::int64_t bytes = 0;
  for (const slot_state& ring : states_) bytes += ring.blocks * layout_.stride + ring.snapshots.bytes();
  return bytes;
}

}  // namespace cogen::cache
