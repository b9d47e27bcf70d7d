#include "copy_job.hpp"
#include "make_layers.hpp"

#include <cogen/cache/cache.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

std::string name_of(int slot) { return "cache: slot " + std::to_string(slot); }

std::string count_of(std::int64_t tokens) { return std::to_string(tokens) + " tokens"; }

std::vector<layer*> one_for_each_storage(const std::vector<std::unique_ptr<layer>>& layers, bool of_encoders) {
  std::vector<layer*> firsts;
  for (const auto& layer : layers) {
    if ((layer->shape().kind == layer_kind::cross) != of_encoders) continue;
    const auto shares = [&](const auto* other) { return other->storage() == layer->storage(); };
    if (std::none_of(firsts.begin(), firsts.end(), shares)) firsts.push_back(layer.get());
  }
  return firsts;
}

int min_length(const std::vector<layer*>& storages) {
  int length = std::numeric_limits<int>::max();
  for (const layer* storage : storages) length = std::min(length, storage->max_sequence_length());
  return length;
}

int least(const std::vector<std::unique_ptr<layer>>& layers, int (layer::*limit)() const noexcept) {
  int tokens = std::numeric_limits<int>::max();
  for (const auto& layer : layers) tokens = std::min(tokens, ((*layer).*limit)());
  return tokens;
}

/// Of storages, and of readers with the longest encoder inputs.
slot_footprint sum_of(const std::vector<layer*>& storages, slot_footprint (layer::*terms)() const,
                      const std::vector<layer*>& readers) {
  slot_footprint sum;
  for (const layer* storage : storages) sum += (storage->*terms)();
  for (const layer* reader : readers) sum.fixed += reader->footprint_terms()(reader->max_sequence_length());
  return sum;
}

/// Reserves in all of them or in none.
void reserve_in_each(const std::vector<layer*>& storages, const step& step) {
  std::size_t done = 0;
  try {
    for (; done < storages.size(); ++done) storages[done]->reserve(step);
  } catch (...) {
    for (std::size_t i = 0; i < done; ++i)
      for (const step_row& row : step.rows()) storages[i]->truncate(row.slot, storages[i]->slots().length(row.slot));
    throw;
  }
}

}  // namespace

cache::cache(std::span<const kv_cache_spec> shapes, const options& options, const layer_factory& own) {
  check(shapes, options);
  table_ = std::make_unique<slot_table>(options.slots);
  encoder_inputs_ = std::make_unique<slot_table>(options.slots);
  layers_ = make_layers(shapes, options, {*table_, *encoder_inputs_}, own);
  storages_ = one_for_each_storage(layers_, false);
  readers_ = one_for_each_storage(layers_, true);
  max_sequence_length_ = min_length(storages_);
  if (options.max_sequence_length > 0 && !options.sinks)
    max_sequence_length_ = std::min(max_sequence_length_, options.max_sequence_length);
  snapshots_.resize(static_cast<std::size_t>(options.slots));
  max_step_tokens_ = least(layers_, &layer::max_step_tokens);
  max_rollback_tokens_ = least(layers_, &layer::max_rollback_tokens);
  max_dropped_drafts_ = least(layers_, &layer::max_dropped_drafts);
}

cache::~cache() = default;
cache::cache(cache&&) noexcept = default;
cache& cache::operator=(cache&&) noexcept = default;

const layer& cache::layer(int index) const {
  if (index < 0 || index >= layers())
    throw std::out_of_range("cache: layer " + std::to_string(index) + " does not exist, there are " +
                            std::to_string(layers()));
  return *layers_[static_cast<std::size_t>(index)];
}

layer& cache::layer(int index) { return const_cast<cogen::cache::layer&>(std::as_const(*this).layer(index)); }

void cache::check_bound(int slot, std::int64_t wanted) const {
  if (wanted > max_sequence_length_)
    throw std::length_error(name_of(slot) + " would hold " + count_of(wanted) + ", the limit is " +
                            std::to_string(max_sequence_length_));
}

void cache::check_empty(int slot) const {
  if (length(slot) > 0)
    throw std::logic_error(name_of(slot) + " holds " + count_of(length(slot)) + ", it has to be empty");
}

void cache::check_can_return(int slot, int length) const {
  const auto cannot = [&](const auto& layer) {
    return layer->shape().kind != layer_kind::cross && !layer->can_truncate(slot, length);
  };
  const auto found = std::find_if(layers_.begin(), layers_.end(), cannot);
  if (found != layers_.end())
    throw std::logic_error(name_of(slot) + " cannot go back to " + count_of(length) + " from " +
                           std::to_string(table_->length(slot)) + ": layer " + std::to_string(found - layers_.begin()) +
                           " no longer holds what they need, and no snapshot was taken there");
}

void cache::check_not_shared(int slot, int length) const {
  const int pinned = table_->pinned(slot);
  if (length < pinned)
    throw std::logic_error(name_of(slot) + " cannot lose its tokens from " + std::to_string(length) +
                           " on: other slots read its first " + std::to_string(pinned));
}

void cache::reserve(const step& step) {
  table_->check(step);
  for (const step_row& row : step.rows()) check_bound(row.slot, std::int64_t{length(row.slot)} + row.count);
  reserve_in_each(storages_, step);
}

void cache::advance(const step& step) {
  table_->check(step);
  for (auto* storage : storages_) storage->settle();
  for (auto* storage : storages_) storage->advance(step);
  table_->advance(step);
}

void cache::reserve_encoder(const step& step) {
  encoder_inputs_->check(step);
  if (readers_.empty()) throw std::logic_error("cache: no layer reads an encoder input");
  for (const step_row& row : step.rows())
    if (encoder_length(row.slot) > 0 || length(row.slot) > 0)
      throw std::logic_error(name_of(row.slot) + " holds " + count_of(length(row.slot)) + " and an encoder input of " +
                             std::to_string(encoder_length(row.slot)) + ", an encoder input comes first and once");
  reserve_in_each(readers_, step);
}

void cache::advance_encoder(const step& step) {
  encoder_inputs_->check(step);
  for (auto* reader : readers_) reader->advance(step);
  encoder_inputs_->advance(step);
}

bool cache::can_truncate(int slot, int length) const {
  if (length < table_->pinned(slot) || length > table_->length(slot)) return false;
  return std::all_of(storages_.begin(), storages_.end(),
                     [&](const auto* storage) { return storage->can_truncate(slot, length); });
}

void cache::truncate(int slot, int length) {
  if (length < 0 || length > table_->length(slot))
    throw std::length_error(name_of(slot) + " cannot be cut to " + count_of(length) + ", it holds " +
                            std::to_string(table_->length(slot)));
  check_not_shared(slot, length);
  check_can_return(slot, length);
  try {
    drop(slot, length);
  } catch (...) {
    const int whole = length / block_tokens * block_tokens;
    drop(slot, can_truncate(slot, whole) ? whole : 0);
    throw;
  }
}

void cache::forget_checkpoints(int slot, int beyond) {
  std::erase_if(snapshots_[static_cast<std::size_t>(slot)], [&](int length) { return length > beyond; });
}

void cache::drop(int slot, int length) {
  forget_checkpoints(slot, length);
  for (auto* storage : storages_) storage->truncate(slot, length);
  table_->set_length(slot, length);
}

void cache::clear(int slot) {
  check_not_shared(slot, 0);
  for (auto* storage : storages_) storage->clear(slot);
  for (auto* reader : readers_) reader->clear(slot);
  forget_checkpoints(slot, -1);
  table_->set_length(slot, 0);
  encoder_inputs_->set_length(slot, 0);
}

bool cache::take_checkpoint(int slot) {
  const int now = length(slot);
  auto& taken = snapshots_[static_cast<std::size_t>(slot)];
  if (std::find(taken.begin(), taken.end(), now) != taken.end()) return false;
  taken.reserve(taken.size() + 1);
  std::size_t done = 0;
  try {
    for (; done < storages_.size(); ++done) storages_[done]->take_checkpoint(slot);
  } catch (...) {
    for (std::size_t i = 0; i <= done; ++i) storages_[i]->drop_checkpoint(slot, now);
    throw;
  }
  taken.push_back(now);
  return true;
}

void cache::drop_checkpoint(int slot, int length) {
  table_->length(slot);
  std::erase(snapshots_[static_cast<std::size_t>(slot)], length);
  for (auto* storage : storages_) storage->drop_checkpoint(slot, length);
}

void cache::release(int slot, int length) {
  check_not_shared(slot, length);
  length = std::min(length, table_->length(slot)) / block_tokens * block_tokens;
  for (auto* storage : storages_) storage->release(slot, length);
  forget_checkpoints(slot, -1);
  table_->set_length(slot, length);
  if (length > 0) return;
  for (auto* reader : readers_) reader->clear(slot);
  encoder_inputs_->set_length(slot, 0);
}

slot_parent cache::parent_for(int slot, int length) const {
  const slot_parent theirs = table_->parent(slot);
  if (theirs.length == 0) return {.slot = slot, .length = length};
  if (theirs.length >= length) return {.slot = theirs.slot, .length = length};
  throw std::logic_error(name_of(slot) + " reads its first " + count_of(theirs.length) + " in slot " +
                         std::to_string(theirs.slot) + ": its first " + std::to_string(length) +
                         " do not lie in one slot, so no other can read them in place");
}

void cache::share_prefix(int slot, int source, int length) {
  check_empty(slot);
  if (length < 1 || length % block_tokens != 0 || length > table_->length(source))
    throw std::invalid_argument(name_of(slot) + " cannot share " + count_of(length) + " of slot " +
                                std::to_string(source) + ": it has to be a multiple of 64 and at most " +
                                std::to_string(table_->length(source)));
  check_can_return(source, length);
  const slot_parent parent = parent_for(source, length);
  fill(slot, [&] {
    for (auto* storage : storages_) storage->share_prefix(slot, parent.slot, length);
  });
  table_->set_parent(slot, parent);
}

void cache::check_fork(const slot_fork& fork) const {
  check_empty(fork.slot);
  if (fork.shared < 0 || fork.shared % block_tokens != 0 || fork.shared > fork.end || fork.end > length(fork.source) ||
      (fork.shared > 0 && fork.shared > length(fork.parent)))
    throw std::invalid_argument(name_of(fork.slot) + " cannot begin with " + count_of(fork.shared) + " of slot " +
                                std::to_string(fork.parent) + " and end at " + std::to_string(fork.end) + " of slot " +
                                std::to_string(fork.source));
  if (encoder_length(fork.slot) > 0)
    throw std::logic_error(name_of(fork.slot) + " holds an encoder input of " +
                           std::to_string(encoder_length(fork.slot)) + ", it has to be empty");
  check_can_return(fork.source, fork.end);
}

void cache::fork(const slot_fork& fork) {
  check_fork(fork);
  const slot_parent parent = fork.shared > 0 ? parent_for(fork.parent, fork.shared) : slot_parent{};
  auto resolved = fork;
  resolved.parent = parent.slot;
  const int encoder_input = encoder_length(fork.source);
  fill(fork.slot, [&] {
    if (fork.end > 0)
      for (auto* storage : storages_) storage->fork(resolved);
    if (encoder_input > 0)
      for (auto* reader : readers_) reader->copy(fork.source, fork.slot, 0, encoder_input);
  });
  if (fork.shared > 0) table_->set_parent(fork.slot, parent);
  table_->set_length(fork.slot, fork.end);
  encoder_inputs_->set_length(fork.slot, encoder_input);
}

void cache::copy(int source, int target, int begin, int end) {
  if (source == target) throw std::invalid_argument(name_of(source) + " cannot be copied to itself");
  if (begin < 0 || begin > end || end > length(source) || begin > length(target))
    throw std::length_error("cache: tokens " + std::to_string(begin) + " to " + std::to_string(end) +
                            " cannot be copied from slot " + std::to_string(source) + ", which holds " +
                            std::to_string(length(source)) + ", to slot " + std::to_string(target) + ", which holds " +
                            std::to_string(length(target)));
  if (begin < table_->parent(target).length)
    throw std::logic_error(name_of(target) + " reads its first " + count_of(table_->parent(target).length) +
                           " in slot " + std::to_string(table_->parent(target).slot) + ": a copy from " +
                           std::to_string(begin) + " on would overwrite them");
  check_can_return(source, end);
  truncate(target, begin);
  if (begin == end) return;
  try {
    for (auto* storage : storages_) storage->copy(source, target, begin, end);
  } catch (...) {
    give_up_copy(target, begin);
    throw;
  }
  table_->set_length(target, end);
}

/// Rings and states may be past `begin` already, and then nothing can continue from there.
void cache::give_up_copy(int slot, int begin) {
  const auto keeps_all = [](const auto* storage) {
    return storage->max_rollback_tokens() == std::numeric_limits<int>::max();
  };
  if (std::all_of(storages_.begin(), storages_.end(), keeps_all)) return drop(slot, begin);
  release(slot, table_->pinned(slot));
}

template <class Fill>
void cache::fill(int slot, Fill fill_it) {
  try {
    fill_it();
  } catch (...) {
    for (auto* storage : storages_) storage->truncate(slot, 0);
    if (encoder_length(slot) == 0)
      for (auto* reader : readers_) reader->truncate(slot, 0);
    throw;
  }
}

std::int64_t cache::exported_bytes(int length, int encoder_length) const {
  std::int64_t bytes = 0;
  for (const auto* storage : storages_) bytes += storage->exported_bytes(length);
  for (const auto* reader : readers_) bytes += reader->exported_bytes(encoder_length);
  return bytes;
}

std::vector<exported_run> cache::exported_runs(int length, int encoder_length) const {
  std::vector<exported_run> runs;
  for (const auto* storage : storages_)
    for (const exported_run& run : storage->exported_runs(length)) append(runs, run);
  for (const auto* reader : readers_) append(runs, {.bytes = reader->exported_bytes(encoder_length)});
  return runs;
}

bool cache::has_finite_numbers(std::span<const std::byte> exported, int length, int encoder_length) const {
  const auto take = [&](const cogen::cache::layer& storage, int tokens) {
    const auto bytes = static_cast<std::size_t>(storage.exported_bytes(tokens));
    if (bytes > exported.size()) return true;
    const bool are = storage.has_finite_numbers(exported.first(bytes), tokens);
    exported = exported.subspan(bytes);
    return are;
  };
  return std::ranges::all_of(storages_, [&](const auto* storage) { return take(*storage, length); }) &&
         std::ranges::all_of(readers_, [&](const auto* reader) { return take(*reader, encoder_length); });
}

slot_footprint cache::compressed_terms() const { return sum_of(storages_, &layer::compressed_terms, readers_); }

void cache::check_exported(int slot, int length, int encoder_length, std::size_t bytes) const {
  const std::int64_t wanted = exported_bytes(length, encoder_length);
  if (static_cast<std::int64_t>(bytes) != wanted)
    throw std::invalid_argument(name_of(slot) + " takes " + std::to_string(wanted) + " bytes for " + count_of(length) +
                                ", not " + std::to_string(bytes));
}

void cache::export_slot(int slot, std::span<std::byte> output) const { run(begin_export(slot, output)); }

void cache::import_slot(int slot, int length, std::span<const std::byte> input, int encoder_length) {
  run(begin_import(slot, length, input, encoder_length));
}

std::vector<byte_copy> cache::begin_export(int slot, std::span<std::byte> output) const {
  check_exported(slot, length(slot), encoder_length(slot), output.size());
  std::vector<byte_copy> later;
  const auto put = [&](const cogen::cache::layer& storage, int length) {
    const auto bytes = static_cast<std::size_t>(storage.exported_bytes(length));
    storage.export_slot(slot, output.first(bytes), later);
    output = output.subspan(bytes);
  };
  for (const auto* storage : storages_) put(*storage, length(slot));
  for (const auto* reader : readers_) put(*reader, encoder_length(slot));
  return later;
}

std::vector<byte_copy> cache::begin_import(int slot, int length, std::span<const std::byte> input, int encoder_length) {
  check_empty(slot);
  if (length < 0 || encoder_length < 0)
    throw std::invalid_argument(name_of(slot) + " cannot take in " + count_of(std::min(length, encoder_length)));
  check_bound(slot, length);
  for (const auto* reader : readers_)
    if (encoder_length > reader->max_sequence_length())
      throw std::length_error(name_of(slot) + " would hold an encoder input of " + count_of(encoder_length) +
                              ", the limit is " + std::to_string(reader->max_sequence_length()));
  check_exported(slot, length, encoder_length, input.size());
  std::vector<byte_copy> later;
  const auto take = [&](cogen::cache::layer& storage, int tokens) {
    const auto bytes = static_cast<std::size_t>(storage.exported_bytes(tokens));
    if (tokens > 0) storage.import_slot(slot, tokens, input.first(bytes), later);
    input = input.subspan(bytes);
  };
  fill(slot, [&] {
    for (auto* storage : storages_) take(*storage, length);
    for (auto* reader : readers_) take(*reader, encoder_length);
  });
  table_->set_length(slot, length);
  encoder_inputs_->set_length(slot, encoder_length);
  return later;
}

slot_footprint cache::footprint_terms() const { return sum_of(storages_, &layer::footprint_terms, readers_); }

std::int64_t cache::committed_bytes() const {
  std::int64_t bytes = 0;
  for (const auto* storage : storages_) bytes += storage->committed_bytes();
  for (const auto* reader : readers_) bytes += reader->committed_bytes();
  return bytes;
}

}  // namespace cogen::cache
