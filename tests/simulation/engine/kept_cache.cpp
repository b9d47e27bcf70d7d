#include "simulation/engine/kept_cache.hpp"

#include <cogen/detail/cache/transfer.hpp>
#include <cogen/extend/kv_codec.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace cogen::engine_simulation {
namespace {

constexpr int dims = 4;
constexpr int state_numbers = 2;

cache::kv_cache_spec layer_of(cache::layer_kind kind, int window = 0) {
  return {.kind = kind, .kv_heads = 1, .head_dim = dims, .window = window};
}

std::vector<cache::kv_cache_spec> shapes_of(const kept_options& options) {
  using enum cache::layer_kind;
  const cache::kv_cache_spec state{.kind = recurrent, .state = state_numbers};
  switch (options.kind) {
    case cache_kind::sliding:
    case cache_kind::packed_sliding:
      return {layer_of(sliding, options.window)};
    case cache_kind::chunked:
      return {layer_of(chunked, options.window), layer_of(full)};
    case cache_kind::mixed:
      return {layer_of(sliding, options.window), layer_of(full), layer_of(chunked, options.window + 3)};
    case cache_kind::recurrent:
      return {state, layer_of(full), layer_of(sliding, options.window)};
    default:
      return {layer_of(full), layer_of(full)};
  }
}

bool is_packed(cache_kind kind) { return kind == cache_kind::packed || kind == cache_kind::packed_sliding; }

/// What a state of two numbers holds after these tokens.
std::pair<float, float> state_after(std::span<const token> tokens) {
  int mixed = 1;
  for (const token each : tokens) mixed = (mixed * 31 + each) % 8191;
  return {static_cast<float>(tokens.size()), static_cast<float>(mixed)};
}

void require(bool holds, int slot, int layer, const char* problem) {
  if (!holds) throw std::logic_error(fmt::format("layer {} of slot {} {}", layer, slot, problem));
}

}  // namespace

std::string name_of(cache_kind kind) {
  constexpr const char* names[] = {"no real cache", "full",  "sliding", "chunked",        "mixed",
                                   "recurrent",     "sinks", "packed",  "packed sliding", "offloaded"};
  return names[static_cast<int>(kind)];
}

cache::cache make_cache(const kept_options& kept, const scheduler::limits& within) {
  cache::options options{.type = cache::scalar::f32,
                         .slots = within.all_slots(),
                         .max_sequence_length = within.max_sequence_length,
                         .max_step_tokens = kept.max_step_tokens,
                         .max_rollback_tokens = kept.max_rollback_tokens};
  if (is_packed(kept.kind)) (options.kv_quantization = cache::int8())->residual = 5;
  if (kept.kind == cache_kind::sinks) options.sinks = {.sinks = 2, .window = kept.window};
  if (kept.kind == cache_kind::offloaded) options.kv_offload = std::make_shared<cache::immediate_transfer>();
  return {shapes_of(kept), options};
}

void kept_cache::apply(const scheduler::step& step) {
  for (const auto name : step.drops) kept_.erase(name);
  for (const int slot : step.clears) cache_.clear(slot);
  for (const auto& each : step.truncations)
    each.length == 0 ? cache_.clear(each.slot) : cache_.truncate(each.slot, each.length);
  for (const auto& each : step.releases) cache_.release(each.slot, each.length);
  for (const auto& each : step.forks) cache_.fork(each);
  for (const auto& each : step.dropped_checkpoints) cache_.drop_checkpoint(each.slot, each.length);
  for (const auto& each : step.checkpoints) cache_.take_checkpoint(each.slot);
  for (const auto& each : step.swap_outs) {
    auto& entry = kept_[each.name];
    entry.resize(static_cast<std::size_t>(cache_.exported_bytes(each.length)));
    cache_.export_slot(each.slot, entry);
  }
  for (const auto& each : step.swap_ins) {
    cache_.import_slot(each.slot, each.length, kept_.extract(each.name).mapped());
    filling_[each.name] = each.slot;
  }
}

void kept_cache::end(scheduler::swap_id name, bool ok) {
  const auto filled = filling_.extract(name);
  if (ok) return;
  filled ? cache_.clear(filled.mapped()) : static_cast<void>(kept_.erase(name));
}

void kept_cache::run(const scheduler::step& plan, const scheduler::toy::cache& received) {
  if (plan.rows.empty()) return;
  std::vector<cache::step_row> rows;
  for (const auto& row : plan.rows) rows.push_back({row.slot, row.count});
  const cache::step step(std::move(rows));
  cache_.reserve(step);
  write(step, received);
  cache_.advance(step);
  for (const auto& row : plan.rows) check(row.slot, received.content(row.slot));
}

void kept_cache::write(const cache::step& step, const scheduler::toy::cache& received) {
  const auto tokens = cache::make_keys_values(1, step.tokens(), dims);
  float* output = tokens.k.data;
  for (const auto& row : step.rows()) {
    const auto content = received.content(row.slot);
    for (auto position = content.end() - row.count; position != content.end(); ++position)
      output = std::fill_n(output, dims, static_cast<float>(*position));
  }
  for (int index = 0; index < cache_.layers(); ++index) {
    auto& layer = cache_.layer(index);
    if (layer.shape().kind == cache::layer_kind::recurrent)
      write_states(layer, step, received);
    else
      layer.append(step, tokens.k, tokens.k);
  }
}

void kept_cache::write_states(cache::layer& layer, const cache::step& step, const scheduler::toy::cache& received) {
  for (const auto& row : step.rows()) {
    const auto content = received.content(row.slot);
    const auto prefix = std::span(content).first(content.size() - static_cast<std::size_t>(row.count));
    const auto view = layer.state(row.slot).value();
    require(prefix.empty() || std::pair(view.previous[0], view.previous[1]) == state_after(prefix), row.slot, 0,
            "has another state than it should");
    std::tie(view.next[0], view.next[1]) = state_after(content);
  }
}

void kept_cache::check(int slot, std::span<const token> content) const {
  const float tolerance = is_packed(kind_) ? 0.6F : 0;
  for (int index = 0; index < cache_.layers(); ++index) {
    const auto& layer = cache_.layer(index);
    if (layer.shape().kind == cache::layer_kind::recurrent) continue;
    const auto extent = layer.mask_sizes(slot, 0);
    const auto held = layer.to_dense(slot, static_cast<int>(content.size()));
    require(held.k.tokens == extent.kv_length, slot, index, "shows another number of tokens than it should");
    for (int i = 0; i < extent.kv_length; ++i) {
      const int position = i < extent.sinks ? i : i - extent.sinks + extent.kv_offset;
      const auto expected = static_cast<float>(content[static_cast<std::size_t>(position)]);
      for (const auto* number : {held.k.row(0, i), held.v.row(0, i)})
        require(std::abs(*number - expected) <= tolerance, slot, index, "holds other tokens than it should");
    }
  }
}

}  // namespace cogen::engine_simulation
