#include <cogen/cache/device_cache.hpp>
#include <cogen/cache/view.hpp>

#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::cache {

namespace {

using std::to_string;

std::string heads_of(const layer_shape& shape) {
  return to_string(shape.kv_heads) + " key/value heads of " + to_string(shape.head_dim);
}

void check_layers(std::span<const layer_shape> shapes) {
  if (shapes.empty()) throw std::invalid_argument("device cache: no layers, at least 1 is needed");
  for (std::size_t index = 0; index < shapes.size(); ++index) {
    const auto& shape = shapes[index];
    check(shape);
    const auto layer = "device cache: layer " + to_string(index);
    if (shape.kind != layer_kind::full && shape.kind != layer_kind::sliding)
      throw std::invalid_argument(layer + " is of neither full nor sliding attention, and no others can be kept");
    if (shape.kv_heads != shapes[0].kv_heads || shape.head_dim != shapes[0].head_dim)
      throw std::invalid_argument(layer + " has " + heads_of(shape) + " where layer 0 has " + heads_of(shapes[0]) +
                                  "; all must have the same");
  }
}

void check_at_least_one(const char* name, int value) {
  if (value < 1)
    throw std::invalid_argument("device cache: " + std::string(name) + " is " + to_string(value) +
                                ", it must be at least 1");
}

void check_packing(std::span<const layer_shape> shapes, const device_packing& packing) {
  for (std::size_t index = 0; index < shapes.size(); ++index)
    if (shapes[index].window > 0)
      throw std::invalid_argument("device cache: layer " + to_string(index) + " has a window of " +
                                  to_string(shapes[index].window) + ", and is not packed");
  if (packing.residual < 0)
    throw std::invalid_argument("device cache: residual is " + to_string(packing.residual) + ", it must be at least 0");
  const auto least = std::int64_t{packing.residual} + block_tokens + 1;
  if (packing.places % block_tokens != 0 || packing.places < least)
    throw std::invalid_argument("device cache: " + to_string(packing.places) +
                                " places for the newest tokens; with a residual of " + to_string(packing.residual) +
                                " at least " + to_string(least) + ", and a multiple of " + to_string(block_tokens));
}

const device_options& checked(std::span<const layer_shape> shapes, const device_options& options) {
  check_layers(shapes);
  check_at_least_one("slots", options.slots);
  check_at_least_one("max_length", options.max_length);
  if (options.packing) check_packing(shapes, *options.packing);
  return options;
}

std::int64_t planes_of(std::span<const layer_shape> shapes) { return 2 * static_cast<std::int64_t>(shapes.size()); }
std::int64_t width_of(const layer_shape& shape) { return std::int64_t{shape.kv_heads} * shape.head_dim; }

std::int64_t places_of(const device_options& options) {
  return options.packing ? options.packing->places : options.max_length;
}

std::int64_t blocks_of(const device_options& options) { return (options.max_length + block_tokens - 1) / block_tokens; }

}  // namespace

device_cache::device_cache(std::span<const layer_shape> shapes, const device_options& options)
    : max_length_(checked(shapes, options).max_length),
      slot_rows_(planes_of(shapes) * places_of(options)),
      table_(options.slots),
      storage_(at::empty({options.slots, planes_of(shapes), places_of(options), width_of(shapes.front())},
                         at::TensorOptions(options.device).dtype(options.type))) {
  const auto& shape = shapes.front();
  if (options.packing)
    packed_ = at::empty({options.slots, static_cast<std::int64_t>(shapes.size()), blocks_of(options),
                         shape.kv_heads * options.packing->head_bytes},
                        at::TensorOptions(options.device).dtype(at::kByte));
  const auto plane = [&](std::int64_t number) {
    return storage_.select(1, number).unflatten(2, {shape.kv_heads, shape.head_dim});
  };
  for (std::int64_t index = 0; index < static_cast<std::int64_t>(shapes.size()); ++index) {
    auto& made = layers_.emplace_back(device_layer{.keys = plane(2 * index),
                                                   .values = plane(2 * index + 1),
                                                   .window = shapes[static_cast<std::size_t>(index)].window,
                                                   .packing = options.packing});
    if (options.packing)
      made.packed = packed_.select(1, index).unflatten(2, {shape.kv_heads, options.packing->head_bytes});
  }
}

std::int64_t device_cache::slot_bytes(std::span<const layer_shape> shapes, const device_options& options) {
  checked(shapes, options);
  const auto full = planes_of(shapes) * places_of(options) * width_of(shapes.front()) *
                    static_cast<std::int64_t>(c10::elementSize(options.type));
  if (!options.packing) return full;
  return full + static_cast<std::int64_t>(shapes.size()) * blocks_of(options) * shapes.front().kv_heads *
                    options.packing->head_bytes;
}

void device_cache::advance(const step& step) {
  table_.check(step);
  for (const auto& row : step.rows()) check_bound(row.slot, std::int64_t{table_.length(row.slot)} + row.count);
  table_.advance(step);
}

void device_cache::truncate(int slot, int length) {
  if (length < 0 || length > table_.length(slot))
    throw std::length_error("device cache: slot " + to_string(slot) + " holds " + to_string(table_.length(slot)) +
                            " tokens and cannot be cut to " + to_string(length));
  table_.set_length(slot, length);
}

void device_cache::copy(int from, int to, int end) {
  if (end < 0 || end > table_.length(from))
    throw std::length_error("device cache: slot " + to_string(from) + " holds " + to_string(table_.length(from)) +
                            " tokens, and slot " + to_string(to) + " cannot begin with " + to_string(end));
  const auto sources = parts_of(from, end);
  const auto targets = parts_of(to, end);
  for (std::size_t part = 0; part < sources.size() && from != to; ++part) targets[part].copy_(sources[part], true);
  table_.set_length(to, end);
}

std::vector<at::Tensor> device_cache::parts_of(int slot, int length) const {
  table_.length(slot);  // throws where there is no such slot
  const auto places = std::min<std::int64_t>(length, storage_.size(2));
  std::vector<at::Tensor> parts{storage_.select(0, slot).narrow(1, 0, places)};
  if (packed_.defined()) parts.push_back(packed_.select(0, slot).narrow(1, 0, length / block_tokens));
  return parts;
}

void device_cache::fill(int slot, int length) {
  if (table_.length(slot) != 0)
    throw std::logic_error("device cache: slot " + to_string(slot) + " holds " + to_string(table_.length(slot)) +
                           " tokens, and only an empty one can be filled");
  check_bound(slot, length);
  table_.set_length(slot, length);
}

void device_cache::check_bound(int slot, std::int64_t length) const {
  if (length > max_length_)
    throw std::length_error("device cache: slot " + to_string(slot) + " would hold " + to_string(length) +
                            " tokens; at most " + to_string(max_length_) + " fit");
}

}  // namespace cogen::cache
