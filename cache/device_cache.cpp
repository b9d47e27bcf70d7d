#include "slot_pages.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/cache/span_with_sinks.hpp>
#include <cogen/detail/cache/view.hpp>
#include <cogen/extend/kv_layer.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>

namespace cogen::cache {

namespace {

using std::to_string;

/// Buffers for layers with tokens on the host: one computes while the next one is copied.
constexpr std::int64_t device_layers = 2;

std::string heads_of(const kv_cache_spec& shape) {
  const auto values = shape.latent_dim > 0 ? " with values of " + to_string(shape.latent_dim) : "";
  return to_string(shape.kv_heads) + " key/value heads of " + to_string(shape.head_dim) + values;
}

/// Of keys and of values that are stored.
std::int64_t planes_of(const kv_cache_spec& shape) { return shape.latent_dim > 0 ? 1 : 2; }

bool is_recurrent(const kv_cache_spec& shape) { return shape.kind == layer_kind::recurrent; }
bool is_cross(const kv_cache_spec& shape) { return shape.kind == layer_kind::cross; }
bool attends_to_tokens(const kv_cache_spec& shape) { return !is_recurrent(shape) && !is_cross(shape); }

bool same_heads(const kv_cache_spec& a, const kv_cache_spec& b) {
  return a.kv_heads == b.kv_heads && a.head_dim == b.head_dim;
}

void check_layers(std::span<const kv_cache_spec> shapes, bool quantizes) {
  if (shapes.empty()) throw std::invalid_argument("device cache: no layers, at least 1 is needed");
  const auto first = static_cast<std::size_t>(std::ranges::find_if_not(shapes, is_recurrent) - shapes.begin());
  for (std::size_t index = 0; index < shapes.size(); ++index) {
    const auto& shape = shapes[index];
    check(shape);
    if (is_recurrent(shape)) continue;
    const auto layer = "device cache: layer " + to_string(index);
    if (shape.latent_dim != shapes[first].latent_dim || (quantizes && !same_heads(shape, shapes[first])))
      throw std::invalid_argument(layer + " has " + heads_of(shape) + " where layer " + to_string(first) + " has " +
                                  heads_of(shapes[first]) + "; all must have the same" +
                                  (quantizes ? " if they are quantized" : ""));
  }
}

void check_at_least_one(const char* name, int value) {
  if (value < 1)
    throw std::invalid_argument("device cache: " + std::string(name) + " is " + to_string(value) +
                                ", it must be at least 1");
}

void check_quantization(std::span<const kv_cache_spec> shapes, const device_options& options) {
  for (std::size_t index = 0; index < shapes.size(); ++index)
    if (const auto span = span_of(shapes[index], options.sinks); span.window > 0 || span.chunk > 0)
      throw std::invalid_argument("device cache: layer " + to_string(index) +
                                  (span.window > 0 ? " has a window of " : " attends in chunks of ") +
                                  to_string(std::max(span.window, span.chunk)) + ", and is not packed");
  const auto residual = options.quantization->residual;
  if (residual < 0)
    throw std::invalid_argument("device cache: residual is " + to_string(residual) + ", it must be at least 0");
  const auto least = std::int64_t{residual} + block_tokens + 1;
  if (options.ring % block_tokens != 0 || options.ring < least)
    throw std::invalid_argument("device cache: a ring of " + to_string(options.ring) +
                                " places for the newest tokens; with a residual of " + to_string(residual) +
                                " at least " + to_string(least) + ", and a multiple of " + to_string(block_tokens));
}

void check_sinks(const sink_window& sinks) {
  constexpr int max_sinks = 64;
  if (sinks.sinks < 0 || sinks.sinks > max_sinks || sinks.window < 1)
    throw std::invalid_argument("device cache: " + to_string(sinks.sinks) + " sinks and a window of " +
                                to_string(sinks.window) + "; possible are 0 to " + to_string(max_sinks) +
                                ", and windows of at least 1");
}

void check_ring(std::span<const kv_cache_spec> shapes, const device_options& options) {
  constexpr int least = 16;
  const auto window = span_of(first_with_keys(shapes), options.sinks).window;
  for (std::size_t index = 0; index < shapes.size(); ++index)
    if (const auto other = span_of(shapes[index], options.sinks).window;
        attends_to_tokens(shapes[index]) && (other != window || other == 0))
      throw std::invalid_argument("device cache: layer " + to_string(index) + " has a window of " + to_string(other) +
                                  "; with a ring all must have the same");
  if (options.ring < std::max(least, window))
    throw std::invalid_argument("device cache: a ring of " + to_string(options.ring) + " places; a window of " +
                                to_string(window) + " needs at least " + to_string(std::max(least, window)));
}

std::int64_t bytes_of_slot(std::span<const kv_cache_spec> shapes, const device_options& options);

void check_pages(std::span<const kv_cache_spec> shapes, const device_options& options) {
  if (options.ring != 0 || options.host.defined())
    throw std::invalid_argument("device cache: memory comes in pages only where all tokens stay, on the device");
  if (const auto bytes = options.pages->page_bytes; device_cache::block_of(shapes, options, bytes).tokens == 0)
    throw std::invalid_argument("device cache: a page of " + to_string(bytes) + " bytes has no room for a token");
}

void check_host(std::span<const kv_cache_spec> shapes, const device_options& options) {
  if (options.ring != 0) throw std::invalid_argument("device cache: host-resident KV caches cannot be rings");
  if (!std::ranges::all_of(shapes, attends_to_tokens))
    throw std::invalid_argument(
        "device cache: layers that are recurrent or read an encoder cannot have host-resident KV caches");
  const auto needed = options.slots * bytes_of_slot(shapes, options);
  if (options.host.scalar_type() != at::kByte || options.host.numel() != needed)
    throw std::invalid_argument("device cache: far memory of " + to_string(options.host.nbytes()) + " bytes; " +
                                to_string(needed) + " are needed");
}

const device_options& checked(std::span<const kv_cache_spec> shapes, const device_options& options) {
  check_layers(shapes, options.quantization.has_value());
  check_at_least_one("slots", options.slots);
  check_at_least_one("max_sequence_length", options.max_sequence_length);
  if (std::ranges::any_of(shapes, is_cross)) check_at_least_one("max_encoder_length", options.max_encoder_length);
  if (options.sinks) check_sinks(*options.sinks);
  if (options.quantization)
    check_quantization(shapes, options);
  else if (options.ring != 0)
    check_ring(shapes, options);
  if (options.host.defined()) check_host(shapes, options);
  if (options.pages) check_pages(shapes, options);
  return options;
}

/// Layers with keys and values of the slot's tokens.
std::int64_t attending(std::span<const kv_cache_spec> shapes) {
  return std::ranges::count_if(shapes, attends_to_tokens);
}

std::int64_t planes_of(std::span<const kv_cache_spec> shapes) {
  return planes_of(first_with_keys(shapes)) * attending(shapes);
}

std::int64_t width_of(const kv_cache_spec& shape) { return std::int64_t{shape.kv_heads} * shape.head_dim; }

/// Rows of all layers are as wide as the widest.
std::int64_t width_of(std::span<const kv_cache_spec> shapes) {
  std::int64_t width = 0;
  for (const auto& shape : shapes) width = std::max(width, width_of(shape));
  return width;
}

std::int64_t numbers_of_states(std::span<const kv_cache_spec> shapes) {
  return std::transform_reduce(shapes.begin(), shapes.end(), std::int64_t{0}, std::plus(),
                               [](const auto& shape) { return shape.state; });
}

std::int64_t places_of(const device_options& options) {
  if (options.ring == 0) return options.max_sequence_length;
  return std::int64_t{options.sinks ? options.sinks->sinks : 0} + options.ring;
}

std::int64_t blocks_of(const device_options& options) {
  return (options.max_sequence_length + block_tokens - 1) / block_tokens;
}

std::int64_t bytes_of_slot(std::span<const kv_cache_spec> shapes, const device_options& options) {
  const auto full = planes_of(shapes) * places_of(options) * width_of(shapes) *
                        static_cast<std::int64_t>(c10::elementSize(options.type)) +
                    device_cache::state_bytes(shapes) + device_cache::encoder_bytes(shapes, options);
  if (!options.quantization) return full;
  return full +
         attending(shapes) * blocks_of(options) * first_with_keys(shapes).kv_heads * options.quantization->head_bytes;
}

/// Of a token in one plane.
std::int64_t row_bytes(std::span<const kv_cache_spec> shapes, const device_options& options) {
  return width_of(shapes) * static_cast<std::int64_t>(c10::elementSize(options.type));
}

/// Of a slot in one plane: a multiple of what ends with a page and with a token.
std::int64_t slot_stride(std::span<const kv_cache_spec> shapes, const device_options& options) {
  const auto row = row_bytes(shapes, options);
  const auto unit = std::lcm(row, options.pages->page_bytes);
  return (options.max_sequence_length * row + unit - 1) / unit * unit;
}

std::unique_ptr<slot_pages> pages_for(std::span<const kv_cache_spec> shapes, const device_options& options) {
  if (!options.pages) return nullptr;
  const auto stride = slot_stride(shapes, options);
  const auto& pages = *options.pages;
  return std::make_unique<slot_pages>(pages.reserve(planes_of(shapes) * options.slots * stride),
                                      slot_pages::shape{.planes = planes_of(shapes),
                                                        .slots = options.slots,
                                                        .slot_blocks = static_cast<int>(stride / pages.page_bytes)},
                                      pages.limit / (planes_of(shapes) * pages.page_bytes), pages.wait);
}

at::Tensor device_rows(at::IntArrayRef sizes, const device_options& options) {
  return at::empty(sizes, at::TensorOptions(options.device).dtype(options.type));
}

/// [planes, slots, places, width]
at::Tensor storage_for(std::span<const kv_cache_spec> shapes, const device_options& options, const slot_pages* pages) {
  const std::array sizes{planes_of(shapes), std::int64_t{options.slots}, places_of(options), width_of(shapes)};
  if (pages) {
    const auto slot = slot_stride(shapes, options) / static_cast<std::int64_t>(c10::elementSize(options.type));
    return pages->bytes().view(options.type).as_strided(sizes, {options.slots * slot, slot, sizes.back(), 1});
  }
  return options.host.defined() ? options.host.view(options.type).view(sizes) : device_rows(sizes, options);
}

/// [turns, planes of a layer, slots, places, width]
at::Tensor turns_for(std::span<const kv_cache_spec> shapes, const device_options& options) {
  if (!options.host.defined()) return {};
  const auto planes = planes_of(first_with_keys(shapes));
  return device_rows({device_layers, planes, options.slots, places_of(options), width_of(shapes)}, options);
}

at::Tensor quantized_for(std::span<const kv_cache_spec> shapes, const device_options& options) {
  if (!options.quantization) return {};
  return at::empty({options.slots, attending(shapes), blocks_of(options),
                    first_with_keys(shapes).kv_heads * options.quantization->head_bytes},
                   at::TensorOptions(options.device).dtype(at::kByte));
}

at::Tensor states_for(std::span<const kv_cache_spec> shapes, const device_options& options) {
  if (std::ranges::none_of(shapes, is_recurrent)) return {};
  return at::empty({options.slots, 1, numbers_of_states(shapes)}, at::TensorOptions(options.device).dtype(at::kFloat));
}

at::Tensor encoded_for(std::span<const kv_cache_spec> shapes, const device_options& options) {
  const auto layers = std::ranges::count_if(shapes, is_cross);
  if (layers == 0) return {};
  return device_rows({options.slots, 2 * layers, options.max_encoder_length, width_of(shapes)}, options);
}

bool all_are_finite(scalar type, std::span<const std::byte> numbers) {
  const exported_run run{.bytes = static_cast<std::int64_t>(numbers.size()), .type = type, .dims = 1};
  return are_finite({&run, 1}, numbers);
}

/// Rows of planes, of which each has so many numbers: what is behind them, no layer has written.
bool rows_are_finite(std::span<const std::byte> exported, const at::Tensor& storage,
                     std::span<const std::int64_t> widths) {
  constexpr scalar types[] = {scalar::f32, scalar::f16, scalar::bf16, scalar::fp8};
  const auto* type = std::ranges::find(types, storage.scalar_type(), tensor_type);
  const auto row = static_cast<std::size_t>(storage.size(-1)) * storage.element_size();
  if (type == std::end(types) || widths.empty() || row == 0) return true;
  const auto rows = exported.size() / row / widths.size();
  for (std::size_t plane = 0; plane < widths.size(); ++plane) {
    const auto numbers = static_cast<std::size_t>(widths[plane]) * storage.element_size();
    for (std::size_t index = 0; index < rows; ++index)
      if (!all_are_finite(*type, exported.subspan((plane * rows + index) * row, numbers))) return false;
  }
  return true;
}

}  // namespace

kv_cache_spec first_with_keys(std::span<const kv_cache_spec> shapes) {
  const auto first = std::ranges::find_if(shapes, attends_to_tokens);
  return first != shapes.end() ? *first : kv_cache_spec{};
}

std::optional<int> shared_window(std::span<const kv_cache_spec> shapes, const std::optional<sink_window>& sinks) {
  const int window = span_of(first_with_keys(shapes), sinks).window;
  const bool all_have_it = std::ranges::all_of(
      shapes, [&](const auto& shape) { return !attends_to_tokens(shape) || span_of(shape, sinks).window == window; });
  return all_have_it ? std::optional(window) : std::nullopt;
}

device_cache::device_cache(std::span<const kv_cache_spec> shapes, const device_options& options)
    : max_sequence_length_(checked(shapes, options).max_sequence_length),
      max_encoder_length_(options.max_encoder_length),
      head_dim_(first_with_keys(shapes).head_dim),
      planes_(planes_of(first_with_keys(shapes))),
      ring_(options.ring),
      slot_rows_(options.pages ? slot_stride(shapes, options) / row_bytes(shapes, options) : places_of(options)),
      table_(options.slots),
      encoder_inputs_(options.slots),
      held_(static_cast<std::size_t>(options.slots)),
      pages_(pages_for(shapes, options)),
      storage_(storage_for(shapes, options, pages_.get())),
      device_(turns_for(shapes, options)),
      quantized_(quantized_for(shapes, options)),
      states_(states_for(shapes, options)),
      encoded_(encoded_for(shapes, options)) {
  std::int64_t index = 0, cross = 0, first_number = 0;
  for (const auto& shape : shapes) {
    if (is_recurrent(shape)) {
      layers_.push_back({.states = states_.select(1, 0).narrow(1, first_number, shape.state)});
      first_number += shape.state;
    } else if (is_cross(shape)) {
      layers_.push_back(cross_layer(cross++, shape));
      encoder_widths_.insert(encoder_widths_.end(), 2, width_of(shape));
    } else {
      layers_.push_back(layer_with_keys(index++, shape, options));
      token_widths_.insert(token_widths_.end(), static_cast<std::size_t>(planes_), width_of(shape));
    }
  }
}

device_cache::~device_cache() = default;

device_layer device_cache::layer_with_keys(std::int64_t index, const kv_cache_spec& shape,
                                           const device_options& options) const {
  const auto planes =
      on_host() ? device_.select(0, index % device_layers) : storage_.narrow(0, planes_ * index, planes_);
  const auto plane = [&](int number) {
    return planes.select(0, number).narrow(2, 0, width_of(shape)).unflatten(2, {shape.kv_heads, shape.head_dim});
  };
  device_layer layer{.keys = plane(0),
                     .values = shape.latent_dim > 0 ? plane(0).narrow(3, 0, shape.latent_dim) : plane(1),
                     .span = span_of(shape, options.sinks),
                     .ring = options.ring,
                     .quantization = options.quantization};
  if (options.quantization)
    layer.quantized = quantized_.select(1, index).unflatten(2, {shape.kv_heads, options.quantization->head_bytes});
  return layer;
}

device_layer device_cache::cross_layer(std::int64_t index, const kv_cache_spec& shape) const {
  const auto plane = [&](std::int64_t number) {
    return encoded_.select(1, 2 * index + number)
        .narrow(2, 0, width_of(shape))
        .unflatten(2, {shape.kv_heads, shape.head_dim});
  };
  return {.keys = plane(0), .values = plane(1), .span = {}};
}

std::int64_t device_cache::slot_bytes(std::span<const kv_cache_spec> shapes, const device_options& options) {
  return bytes_of_slot(shapes, checked(shapes, options));
}

std::int64_t device_cache::state_bytes(std::span<const kv_cache_spec> shapes) {
  return numbers_of_states(shapes) * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t device_cache::encoder_bytes(std::span<const kv_cache_spec> shapes, const device_options& options) {
  return 2 * std::ranges::count_if(shapes, is_cross) * options.max_encoder_length * width_of(shapes) *
         static_cast<std::int64_t>(c10::elementSize(options.type));
}

block_size device_cache::block_of(std::span<const kv_cache_spec> shapes, const device_options& options,
                                  std::int64_t page_bytes) {
  const auto row = row_bytes(shapes, options);
  if (row == 0 || row > page_bytes) return {};
  return {.bytes = planes_of(shapes) * page_bytes,
          .tokens = static_cast<int>(page_bytes / row),
          .exact = page_bytes % row == 0};
}

kv_copy device_cache::moving(int layer, int slot, int begin, int end) const {
  const auto tokens = [&](const at::Tensor& planes) { return planes.narrow(1, begin, end - begin); };
  return {.host = tokens(storage_.narrow(0, planes_ * layer, planes_).select(1, slot)),
          .device = tokens(device_.select(0, layer % device_layers).select(1, slot))};
}

void device_cache::advance(const step& step) {
  table_.check(step);
  for (const auto& row : step.rows()) check_bound(row.slot, std::int64_t{table_.length(row.slot)} + row.count);
  table_.advance(step);
  for (const auto& row : step.rows()) held_[static_cast<std::size_t>(row.slot)] = table_.length(row.slot);
  if (pages_) map_ahead(step);
}

int device_cache::held(int slot) const {
  table_.check(slot);
  return held_[static_cast<std::size_t>(slot)];
}

void device_cache::lose(int slot, int count) {
  check_bound(slot, std::int64_t{table_.length(slot)} + count);
  table_.set_length(slot, table_.length(slot) + count);
}

void device_cache::reserve(int slot, int count) {
  const std::int64_t length = table_.length(slot), end = length + count;
  check_bound(slot, end);
  if (!pages_) return;
  if (held(slot) < length) throw std::bad_alloc();
  try {
    pages_->reserve(slot, pages_of(end));
    make_writable(slot, length, end);
  } catch (...) {
    pages_->release(slot, pages_of(length));
    throw;
  }
}

std::int64_t device_cache::page_bytes() const {
  return pages_ ? pages_->blocks() * storage_.size(0) * pages_->page_bytes() : 0;
}

void device_cache::trim() {
  if (pages_) pages_->trim();
}

/// In each plane, those in which they lie.
int device_cache::pages_of(std::int64_t tokens) const {
  const auto bytes = tokens * storage_.stride(2) * storage_.element_size();
  return static_cast<int>((bytes + pages_->page_bytes() - 1) / pages_->page_bytes());
}

/// Those that hold nothing else.
int device_cache::whole_pages_in(std::int64_t tokens) const {
  return static_cast<int>(tokens * storage_.stride(2) * storage_.element_size() / pages_->page_bytes());
}

/// Tokens [begin, end) are about to be written. Those before that lie in the same page stay.
void device_cache::make_writable(int slot, std::int64_t begin, std::int64_t end) {
  const auto row = storage_.stride(2) * storage_.element_size(), page = pages_->page_bytes();
  for (int block = whole_pages_in(begin); block < pages_of(end); ++block) {
    try {
      if (const auto other = pages_->make_writable(slot, block)) copy_bytes(*other, slot, block * page, begin * row);
    } catch (...) {
      auto& held = held_[static_cast<std::size_t>(slot)];
      held = std::min(held, static_cast<int>(pages_->mapped(slot) * page / row));
      throw;
    }
  }
}

/// Of each plane.
void device_cache::copy_bytes(int source, int target, std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return;
  const auto planes = pages_->bytes().view({storage_.size(0), slots(), -1});
  const auto part = [&](int slot) { return planes.select(1, slot).narrow(1, begin, end - begin); };
  part(target).copy_(part(source), true);
}

/// Memory for what the next step is expected to bring: as many tokens, or an eighth of a page.
void device_cache::map_ahead(const step& step) {
  const auto eighth = pages_->page_bytes() / (storage_.stride(2) * storage_.element_size()) / 8;
  for (const auto& row : step.rows()) {
    const auto next = table_.length(row.slot) + std::max<std::int64_t>(eighth, row.count);
    pages_->map_ahead(row.slot, pages_of(std::min<std::int64_t>(next, max_sequence_length_)));
  }
}

bool device_cache::can_truncate(int slot, int length) const {
  return !has_states() || length == 0 || length == table_.length(slot);
}

void device_cache::truncate(int slot, int length) {
  check_end(slot, length, " and cannot be cut to ");
  set_length(slot, std::min(length, held(slot)));
  if (length > held(slot)) lose(slot, length - held(slot));
}

/// All of which is there.
void device_cache::set_length(int slot, int length) {
  table_.set_length(slot, length);
  held_[static_cast<std::size_t>(slot)] = length;
  if (pages_) pages_->release(slot, pages_of(length));
}

void device_cache::clear(int slot) {
  truncate(slot, 0);
  encoder_inputs_.set_length(slot, 0);
}

void device_cache::copy(int source, int target, int end) {
  check_end(source, end, ", and slot " + to_string(target) + " cannot begin with ");
  if (source == target) return truncate(target, end);
  const auto sources = parts_of(source, end);
  const auto targets = parts_of(target, end);
  if (pages_) share_pages(source, target, end);
  for (std::size_t part = pages_ ? 1 : 0; part < sources.size(); ++part) targets[part].copy_(sources[part], true);
  set_length(target, end);
}

void device_cache::share_pages(int source, int target, int end) {
  set_length(target, 0);
  if (held(source) < end) throw std::bad_alloc();
  const auto row = storage_.stride(2) * storage_.element_size();
  const auto shared = whole_pages_in(end) * pages_->page_bytes();
  try {
    pages_->share(source, target, whole_pages_in(end));
    pages_->reserve(target, pages_of(end));
    if (shared < end * row) static_cast<void>(pages_->make_writable(target, whole_pages_in(end)));
  } catch (...) {
    pages_->release(target, 0);
    throw;
  }
  copy_bytes(source, target, shared, end * row);
}

std::vector<at::Tensor> device_cache::parts_of(int slot, int length) const {
  table_.length(slot);  // throws if there is no such slot
  std::vector<at::Tensor> parts{exact_part_of(slot, length)};
  if (quantized_.defined()) parts.push_back(block_part_of(slot, length));
  if (has_states()) parts.push_back(state_part_of(slot, length));
  return parts;
}

bool device_cache::has_finite_numbers(std::span<const std::byte> exported, int length, int encoder_length) const {
  const auto next = [&](const at::Tensor& part) {
    const auto size = part.defined() ? std::min(part.nbytes(), exported.size()) : 0;
    const auto bytes = exported.first(size);
    exported = exported.subspan(size);
    return bytes;
  };
  if (!rows_are_finite(next(exact_part_of(0, length)), storage_, token_widths_)) return false;
  if (quantized_.defined() && !blocks_are_finite(next(block_part_of(0, length)), length)) return false;
  if (has_states() && !all_are_finite(scalar::f32, next(state_part_of(0, length)))) return false;
  return encoder_length == 0 || rows_are_finite(next(encoder_part(0, encoder_length)), encoded_, encoder_widths_);
}

/// Later blocks are quantized before they are read.
bool device_cache::blocks_are_finite(std::span<const std::byte> exported, int length) const {
  const auto quantizes = [](const device_layer& layer) { return layer.quantization.has_value(); };
  const auto layer = std::ranges::find_if(layers_, quantizes);
  if (layer == layers_.end()) return true;
  const auto& [keys, values] = layer->quantization->head;
  auto head = keys;
  if (planes_ > 1) head.insert(head.end(), values.begin(), values.end());
  const auto bytes = static_cast<std::size_t>(layer->quantization->head_bytes);
  const auto blocks = static_cast<std::size_t>(length / block_tokens),
             layers = static_cast<std::size_t>(quantized_.size(1));
  const auto due = static_cast<std::size_t>(quantized_tokens(length, layer->quantization->residual) / block_tokens);
  if (blocks == 0 || exported.size() != static_cast<std::size_t>(quantized_.size(3)) * blocks * layers) return true;
  const auto heads = static_cast<std::size_t>(quantized_.size(3)) / bytes;
  for (std::size_t i = 0; i < layers; ++i)
    for (std::size_t block = 0; block < std::min(due, blocks) * heads; ++block)
      if (!are_finite(head, exported.subspan((i * blocks * heads + block) * bytes, bytes))) return false;
  return true;
}

std::vector<at::Tensor> device_cache::live_parts_of(int slot, int length) const {
  table_.length(slot);  // throws if there is no such slot
  std::vector<at::Tensor> parts;
  if (ring_ > 0) parts.push_back(exact_part_of(slot, length));
  if (has_states()) parts.push_back(state_part_of(slot, length));
  return parts;
}

/// Keys and values in full precision.
at::Tensor device_cache::exact_part_of(int slot, int length) const {
  return storage_.select(1, slot).narrow(1, 0, std::min<std::int64_t>(length, storage_.size(2)));
}

at::Tensor device_cache::block_part_of(int slot, int length) const {
  return quantized_.select(0, slot).narrow(1, 0, length / block_tokens);
}

at::Tensor device_cache::state_part_of(int slot, int length) const {
  return states_.narrow(0, slot, 1).narrow(1, 0, length > 0 ? 1 : 0);
}

void device_cache::set_encoder_length(int slot, int length) {
  if (length > max_encoder_length_)
    throw std::length_error("device cache: slot " + to_string(slot) + " would hold an encoder input of " +
                            to_string(length) + " tokens; at most " + to_string(max_encoder_length_) + " fit");
  encoder_inputs_.set_length(slot, length);
}

at::Tensor device_cache::encoder_part(int slot, int length) const {
  return encoded_.defined() ? encoded_.select(0, slot).narrow(1, 0, length) : encoded_;
}

void device_cache::copy_encoder_input(int source, int target) {
  const int length = encoder_length(source);
  if (length > 0 && source != target) encoder_part(target, length).copy_(encoder_part(source, length), true);
  encoder_inputs_.set_length(target, length);
}

bool device_cache::is_exact(const at::Tensor& part) const {
  return !quantized_.defined() && part.is_alias_of(storage_);
}

void device_cache::fill(int slot, int length) {
  if (table_.length(slot) != 0)
    throw std::logic_error("device cache: slot " + to_string(slot) + " holds " + to_string(table_.length(slot)) +
                           " tokens, and only an empty one can be filled");
  check_bound(slot, length);
  reserve(slot, length);
  set_length(slot, length);
}

void device_cache::check_end(int slot, int end, const std::string& message) const {
  const auto held = "device cache: slot " + to_string(slot) + " holds " + to_string(table_.length(slot)) + " tokens";
  if (end < 0 || end > table_.length(slot)) throw std::length_error(held + message + to_string(end));
  if (!can_truncate(slot, end))
    throw std::logic_error(held + message + to_string(end) + ": it has states of all of them");
}

void device_cache::check_bound(int slot, std::int64_t length) const {
  if (length > max_sequence_length_)
    throw std::length_error("device cache: slot " + to_string(slot) + " would hold " + to_string(length) +
                            " tokens; at most " + to_string(max_sequence_length_) + " fit");
}

std::vector<at::Tensor> tensors_of(const std::vector<at::Tensor>& parts, std::span<const std::byte> bytes) {
  std::size_t wanted = 0;
  for (const auto& part : parts) wanted += part.nbytes();
  if (bytes.size() != wanted)
    throw std::invalid_argument("a slot takes " + to_string(wanted) + " bytes, not " + to_string(bytes.size()));
  std::vector<at::Tensor> views;
  for (const auto& part : parts) {
    views.push_back(at::from_blob(const_cast<std::byte*>(bytes.data()), part.sizes(), part.scalar_type()));
    bytes = bytes.subspan(part.nbytes());
  }
  return views;
}

}  // namespace cogen::cache
