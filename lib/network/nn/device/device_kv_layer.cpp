#include "network/nn/device/device_kv_layer.hpp"

#include "network/nn/device/device_cross_layer.hpp"
#include "network/nn/device/device_layout.hpp"

#include <cogen/cache/span_with_sinks.hpp>
#include <cogen/extend/tensors.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace cogen::nn {

namespace {

/// The length of slots that only keep a window or states, if no other is asked for.
constexpr int length_of_endless = 1 << 30;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) {
  throw std::invalid_argument("cache: " + fmt::format(why, std::forward<Args>(args)...));
}

void check_type(const device_model& model, const cache::options& options) {
  const auto type = cache::tensor_type(options.type);
  const bool is_fp8 = options.type == cache::scalar::fp8;
  if (type != model.type() && !is_fp8 && !model.backend->reads_any_cache_type())
    refuse("type is {}; caches on {} keep {} or {}", c10::toString(type), model.backend->name(),
           c10::toString(model.type()), c10::toString(at::kFloat8_e4m3fn));
  if (is_fp8 && options.kv_quantization)
    refuse(
        "kv_quantization and a type of fp8 are both set; quantized caches on {} keep their newest tokens in the "
        "model's own type",
        model.backend->name());
}

void check_codecs(const device_model& model, const cache::quantization& codecs) {
  if (codecs.keys->format() == nullptr || codecs.values->format() == nullptr)
    refuse("kv_quantization has keys {} and values {}; caches on {} have no codecs of your own", codecs.keys->name(),
           codecs.values->name(), model.backend->name());
}

void check_together(const device_model& model, const cache::options& options) {
  const auto device = model.backend->name();
  if (options.kv_offload && (options.kv_quantization || options.sinks))
    refuse("kv_offload and {} are both set; caches on {} offload what keeps every token in full precision",
           options.sinks ? "sinks" : "kv_quantization", device);
  if (options.kv_offload && cache::device_cache::state_bytes(model.kv_cache_specs()) > 0)
    refuse("kv_offload is set; caches on {} keep states there", device);
  if (options.kv_offload && model.has_encoder())
    refuse("kv_offload is set; caches on {} offload models without an encoder", device);
  if (options.sinks && !cache::shared_window(model.kv_cache_specs(), options.sinks))
    refuse("sinks are set; caches on {} have them where all layers have the same window", device);
}

void copy_parts(const std::vector<at::Tensor>& source, const std::vector<at::Tensor>& target) {
  for (std::size_t part = 0; part < source.size(); ++part) target[part].copy_(source[part], true);
}

/// The options are valid for a cache in host memory.
cache::device_options checked_layout(const device_model& model, const cache::options& options) {
  check_type(model, options);
  if (options.kv_quantization) check_codecs(model, *options.kv_quantization);
  check_together(model, options);
  auto layout = device_layout(model, options);
  if (options.max_sequence_length == 0) {
    const bool has_keys = cache::first_with_keys(model.kv_cache_specs()).kv_heads > 0;
    if (has_keys && (layout.ring == 0 || layout.quantization))
      refuse("max_sequence_length is 0; caches on {} take all of their memory at once, and need a bound",
             model.backend->name());
    layout.max_sequence_length = length_of_endless;
  }
  if (options.kv_offload)
    layout.host =
        model.backend->make_host(layout.slots * cache::device_cache::slot_bytes(model.kv_cache_specs(), layout));
  return layout;
}

}  // namespace

device_kv::device_kv(const device_model& model, const cache::options& options)
    : device_kv(model, checked_layout(model, options)) {}

device_kv::device_kv(const device_model& model, const cache::device_options& layout)
    : where(model.backend),
      slot_bytes(cache::device_cache::slot_bytes(model.kv_cache_specs(), layout) +
                 cache::device_cache::state_bytes(model.kv_cache_specs())),
      tokens(model.kv_cache_specs(), layout),
      states(tokens),
      pasts(static_cast<std::size_t>(layout.slots)),
      work(where->make_stream()),
      prefetcher(tokens.on_host() ? std::make_unique<kv_prefetcher>(*where, *work, tokens) : nullptr) {
  check_offsets(tokens);
  where->synchronize();
}

void device_kv::run(const std::function<void()>& some) {
  work->run_on_stream(some);
  work->wait();
}

void refuse_elsewhere(const device_kv& kv) {
  refuse("it is on {}, and takes tokens from forward() of a model there alone", kv.where->name());
}

device_kv_layer::device_kv_layer(const cache::kv_cache_spec& shape, const cache::options& options,
                                 const cache::slot_table& slots, std::shared_ptr<device_kv> kv)
    : layer(shape, options.type, slots, cache::span_of(shape, options.sinks)),
      kv_(std::move(kv)),
      max_step_tokens_(options.max_step_tokens),
      max_rollback_tokens_(options.max_rollback_tokens) {}

int device_kv_layer::max_rollback_tokens() const noexcept {
  if (shape().kind == cache::layer_kind::recurrent) return 0;
  return is_ring() ? max_rollback_tokens_ : std::numeric_limits<int>::max();
}

int device_kv_layer::max_step_tokens() const noexcept {
  return is_ring() ? max_step_tokens_ : std::numeric_limits<int>::max();
}

void device_kv_layer::reserve(const cache::step& step) {
  layer::reserve(step);
  if (!kv_->tokens.has_states()) return;
  kv_->run([&] {
    for (const auto& row : step.rows()) kv_->states.save(row.slot);
  });
}

void device_kv_layer::advance(const cache::step& step) {
  kv_->tokens.advance(step);
  for (const auto& row : step.rows()) {
    kv_->states.drop(row.slot);
    past(row.slot).most = std::max(past(row.slot).most, kv_->tokens.length(row.slot));
  }
}

bool device_kv_layer::still_holds(int slot, int length) const {
  if (!kv_->tokens.can_truncate(slot, length)) return false;
  return !is_ring() || length == 0 || past(slot).most - length <= max_rollback_tokens_;
}

/// Null if the slot still holds what it needs, or no snapshot was taken there.
const device_kv::snapshot* device_kv_layer::needed_snapshot(int slot, int length) const {
  const auto& kept = past(slot).snapshots;
  const auto found = std::ranges::find(kept, length, &device_kv::snapshot::length);
  return still_holds(slot, length) || found == kept.end() ? nullptr : &*found;
}

bool device_kv_layer::can_truncate(int slot, int length) const {
  return layer::can_truncate(slot, length) && (still_holds(slot, length) || needed_snapshot(slot, length) != nullptr);
}

void device_kv_layer::truncate(int slot, int length) {
  auto& tokens = kv_->tokens;
  if (const auto* const snapshot = needed_snapshot(slot, length)) {
    kv_->run([&] { copy_parts(snapshot->overwritten, tokens.live_parts_of(slot, length)); });
    kv_->states.drop(slot);
    past(slot).most = snapshot->most;
    tokens.truncate(slot, 0);
    tokens.fill(slot, length);
  } else {
    tokens.truncate(slot, length);
  }
  std::erase_if(past(slot).snapshots, [&](const auto& entry) { return entry.length > length; });
  if (length > 0) return;
  past(slot).most = 0;
  kv_->states.drop(slot);
}

void device_kv_layer::take_checkpoint(int slot) {
  if (!overwrites()) return;
  device_kv::snapshot now{.length = kv_->tokens.length(slot), .most = past(slot).most, .overwritten = {}};
  kv_->run([&] {
    kv_->states.restore(slot);
    for (const auto& part : kv_->tokens.live_parts_of(slot, now.length)) now.overwritten.push_back(part.clone());
  });
  past(slot).snapshots.push_back(std::move(now));
}

void device_kv_layer::drop_checkpoint(int slot, int length) {
  std::erase_if(past(slot).snapshots, [&](const auto& entry) { return entry.length == length; });
}

void device_kv_layer::copy(int source, int target, int begin, int end) {
  auto& tokens = kv_->tokens;
  if (!overwrites()) {
    const auto added = [&](int slot) { return tokens.parts_of(slot, end).front().narrow(1, begin, end - begin); };
    kv_->run([&] { added(target).copy_(added(source), true); });
    tokens.advance(cache::step({{.slot = target, .count = end - begin}}));
    return;
  }
  const auto* const back = needed_snapshot(source, end);
  kv_->run([&] {
    kv_->states.restore(source);
    copy_parts(tokens.parts_of(source, end), tokens.parts_of(target, end));
    if (back) copy_parts(back->overwritten, tokens.live_parts_of(target, end));
  });
  kv_->states.drop(target);
  past(target).most = back ? back->most : past(source).most;
  tokens.truncate(target, 0);
  tokens.fill(target, end);
}

std::int64_t device_kv_layer::exported_bytes(int length) const {
  auto bytes = mark_bytes();
  for (const auto& part : kv_->tokens.parts_of(0, length)) bytes += static_cast<std::int64_t>(part.nbytes());
  return bytes;
}

void device_kv_layer::export_slot(int slot, std::span<std::byte> output, std::vector<cache::byte_copy>&) const {
  const auto mark = static_cast<std::size_t>(mark_bytes());
  if (mark > 0) std::memcpy(output.data(), &past(slot).most, mark);
  const auto parts = kv_->tokens.parts_of(slot, kv_->tokens.length(slot));
  const auto views = cache::tensors_of(parts, output.subspan(mark));
  kv_->run([&] {
    kv_->states.restore(slot);
    copy_parts(parts, views);
  });
}

void device_kv_layer::import_slot(int slot, int length, std::span<const std::byte> input,
                                  std::vector<cache::byte_copy>&) {
  const auto mark = static_cast<std::size_t>(mark_bytes());
  const auto parts = kv_->tokens.parts_of(slot, length);
  const auto views = cache::tensors_of(parts, input.subspan(mark));
  kv_->tokens.fill(slot, length);
  kv_->states.drop(slot);
  if (mark > 0) std::memcpy(&past(slot).most, input.data(), mark);
  kv_->run([&] { copy_parts(views, parts); });
}

void device_kv_layer::append(const cache::step&, const cache::head_rows&, const cache::head_rows&) {
  refuse_elsewhere(*kv_);
}

cache::keys_values device_kv_layer::to_dense(int, int) const { refuse_elsewhere(*kv_); }

cache::cache make_cache_on(const device_model& model, const cache::options& options, const cache::layer_factory& own) {
  const auto device = model.backend->name();
  if (own) refuse("layers of your own are in host memory; caches on {} have none", device);
  std::shared_ptr<device_kv> kv;
  const auto make_layer = [&](int, const cache::kv_cache_spec& shape,
                              const cache::slot_table& slots) -> std::unique_ptr<cache::layer> {
    if (!kv) kv = std::make_shared<device_kv>(model, options);
    if (shape.kind == cache::layer_kind::cross) return std::make_unique<device_cross_layer>(shape, options, slots, kv);
    return std::make_unique<device_kv_layer>(shape, options, slots, kv);
  };
  auto checked = options;
  if (options.type == cache::scalar::fp8) checked.type = cache::scalar::f32;
  return {model.kv_cache_specs(), checked, make_layer};
}

device_kv& kv_on(const device_model& model, cache::cache& cache) {
  const auto* const layer = dynamic_cast<const device_kv_layer*>(&cache.layer(0));
  const auto device = model.backend->name();
  if (layer == nullptr || layer->kv().where->name() != device)
    throw std::invalid_argument(
        fmt::format("the model is on {} and the cache is not; the model's make_cache() makes one there", device));
  return layer->kv();
}

}  // namespace cogen::nn
