#include <cogen/cache/device_cache.hpp>

#include <ATen/ops/empty.h>

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

const device_options& checked(std::span<const layer_shape> shapes, const device_options& options) {
  check_layers(shapes);
  check_at_least_one("slots", options.slots);
  check_at_least_one("max_length", options.max_length);
  return options;
}

std::int64_t planes_of(std::span<const layer_shape> shapes) { return 2 * static_cast<std::int64_t>(shapes.size()); }
std::int64_t width_of(const layer_shape& shape) { return std::int64_t{shape.kv_heads} * shape.head_dim; }

}  // namespace

device_cache::device_cache(std::span<const layer_shape> shapes, const device_options& options)
    : max_length_(checked(shapes, options).max_length),
      slot_rows_(planes_of(shapes) * max_length_),
      table_(options.slots),
      storage_(at::empty({options.slots, planes_of(shapes), max_length_, width_of(shapes.front())},
                         at::TensorOptions(options.device).dtype(options.type))) {
  const auto plane = [&](std::int64_t number) {
    return storage_.select(1, number).unflatten(2, {shapes[0].kv_heads, shapes[0].head_dim});
  };
  for (std::int64_t index = 0; const auto& shape : shapes) {
    layers_.push_back({plane(index), plane(index + 1), shape.window});
    index += 2;
  }
}

std::int64_t device_cache::slot_bytes(std::span<const layer_shape> shapes, const device_options& options) {
  checked(shapes, options);
  return planes_of(shapes) * options.max_length * width_of(shapes.front()) *
         static_cast<std::int64_t>(c10::elementSize(options.type));
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

void device_cache::copy(int from, int to, int begin, int end) {
  if (begin < 0 || begin > end || begin > table_.length(to) || end > table_.length(from))
    throw std::length_error("device cache: tokens [" + to_string(begin) + ", " + to_string(end) + ") of slot " +
                            to_string(from) + ", which holds " + to_string(table_.length(from)) +
                            ", cannot follow the " + to_string(table_.length(to)) + " of slot " + to_string(to));
  const auto range = [&](int slot) { return tokens_of(slot, end).narrow(1, begin, end - begin); };
  if (begin < end && from != to) range(to).copy_(range(from), true);
  table_.set_length(to, end);
}

at::Tensor device_cache::tokens_of(int slot, int length) const {
  table_.length(slot);  // throws where there is no such slot
  return storage_.select(0, slot).narrow(1, 0, length);
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
