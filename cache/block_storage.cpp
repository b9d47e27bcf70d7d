#include "block_storage.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {

block_storage::block_storage(block_layout layout, const slot_table& table, int max_sequence_length,
                             std::optional<int> residual)
    : token_storage(std::move(layout), table, residual),
      max_sequence_length_(max_sequence_length),
      slot_stride_(product(blocks_for(max_sequence_length), layout_.stride)),
      memory_(product(table.slots(), slot_stride_)),
      owned_(static_cast<std::size_t>(table.slots())),
      previous_(owned_.size()) {}

int block_storage::room(int slot) const {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{owned(slot).end} * block_tokens, max_sequence_length_));
}

int block_storage::ranges(int slot, int length, kv_range* output) const {
  table_.check(slot);
  const int end = length < 0 ? length : stored(length);
  if (end < 0 || end > room(slot))
    throw std::out_of_range("cache: " + std::to_string(length) + " tokens of slot " + std::to_string(slot) +
                            " are asked for, there is room for " + std::to_string(room(slot)));
  int count = 0;
  const auto add = [&](int owner, int first, int last) {
    if (first < last) output[count++] = {.data = block(owner, 0), .begin = first, .end = last};
  };
  add(table_.parent(slot).slot, 0, std::min(shared(slot), end));
  add(slot, shared(slot), end);
  return count;
}

const std::byte* block_storage::readable_block(int slot, int number) const {
  return number < owned(slot).begin ? block(table_.parent(slot).slot, number) : block(slot, number);
}

void block_storage::grow(int slot, int length) {
  blocks& own = owned(slot);
  const int wanted = blocks_for(length);
  if (wanted <= own.end) return;
  memory_.commit(block(slot, own.end) - memory_.data(), (wanted - own.end) * layout_.stride);
  own.end = wanted;
}

void block_storage::release(int slot, blocks range) noexcept {
  if (range.begin < range.end)
    memory_.release(block(slot, range.begin) - memory_.data(), (range.end - range.begin) * layout_.stride);
}

void block_storage::reserve(const step& step) {
  for (const step_row& row : step.rows()) previous_[static_cast<std::size_t>(row.slot)] = owned(row.slot);
  try {
    for (const step_row& row : step.rows()) grow(row.slot, stored(table_.length(row.slot) + row.count));
  } catch (...) {
    for (const step_row& row : step.rows()) {
      const blocks previous = previous_[static_cast<std::size_t>(row.slot)];
      release(row.slot, {previous.end, owned(row.slot).end});
      owned(row.slot) = previous;
    }
    throw;
  }
}

void block_storage::truncate(int slot, int length) {
  if (length < table_.parent(slot).length) return leave_parent_within_block(slot, length);
  const int end = std::min(owned(slot).end, blocks_for(stored(length)));
  release(slot, {end, owned(slot).end});
  owned(slot).end = end;
  if (length == 0) owned(slot) = {};
}

void block_storage::leave_parent_within_block(int slot, int length) {
  const int kept = stored(length / block_tokens * block_tokens);
  const blocks left{kept / block_tokens, blocks_for(stored(length))};
  if (left.begin < left.end) {
    memory_.commit(block(slot, left.begin) - memory_.data(), (left.end - left.begin) * layout_.stride);
    copy_blocks(slot, left, block(slot, left.begin));
  }
  release(slot, owned(slot));
  owned(slot) = left;
}

void block_storage::share_prefix(int slot, int, int length) {
  release(slot, owned(slot));
  owned(slot) = {stored(length) / block_tokens, stored(length) / block_tokens};
}

void block_storage::copy(int source, int target, int begin, int end) {
  grow(target, stored(end));
  const int first = stored(begin);
  const int first_whole = blocks_for(first);
  if (first % block_tokens != 0)
    copy_tokens(layout_, readable_block(source, first / block_tokens), block(target, first / block_tokens),
                first % block_tokens, std::min(end - first / block_tokens * block_tokens, block_tokens));
  copy_blocks(source, {first_whole, blocks_for(stored(end))}, block(target, first_whole));
}

/// Calls `copy(data, bytes)` for contiguous blocks: those of the parent, and the slot's own.
template <class Copy>
void block_storage::each_piece(int slot, blocks range, Copy copy) const {
  const int boundary = std::clamp(owned(slot).begin, range.begin, range.end);
  for (const blocks piece : {blocks{range.begin, boundary}, blocks{boundary, range.end}})
    if (piece.begin < piece.end)
      copy(readable_block(slot, piece.begin), static_cast<std::size_t>((piece.end - piece.begin) * layout_.stride));
}

void block_storage::copy_blocks(int slot, blocks range, std::byte* output) const {
  each_piece(slot, range, [&](const std::byte* data, std::size_t bytes) {
    std::memcpy(output, data, bytes);
    output += bytes;
  });
}

void block_storage::export_slot(int slot, std::byte* output, std::vector<byte_copy>& later) const {
  each_piece(slot, {0, blocks_for(stored(table_.length(slot)))}, [&](const std::byte* data, std::size_t bytes) {
    later.push_back({{data, bytes}, {output, bytes}});
    output += bytes;
  });
}

void block_storage::import_slot(int slot, int length, const std::byte* input, std::vector<byte_copy>& later) {
  grow(slot, stored(length));
  const auto bytes = static_cast<std::size_t>(exported_bytes(length));
  if (bytes > 0) later.push_back({{input, bytes}, {block(slot, 0), bytes}});
}

std::int64_t block_storage::committed_bytes() const {
  std::int64_t count = 0;
  for (const blocks& own : owned_) count += own.end - own.begin;
  return count * layout_.stride;
}

}  // namespace cogen::cache
