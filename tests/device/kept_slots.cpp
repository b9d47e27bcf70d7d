#include "kept_slots.hpp"

#include "device_models.hpp"
#include "network/nn/device/kv_prefetcher.hpp"
#include "network/nn/device/step_block.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <random>

namespace cogen::test {

namespace {

const device::attention_shape shape{.heads = 4, .kv_heads = 2, .head_dim = 64, .scale = 0.125F};
constexpr int layer_count = 3;
constexpr int max_positions = 1 << 10;
constexpr auto type = at::kBFloat16;

const models::mamba_spec scan_spec{
    .channels = shape.heads * shape.head_dim, .states = 16, .taps = 4, .rank = 24, .norm_epsilon = 1e-5};

std::vector<cache::kv_cache_spec> shapes_of(const device_kind& kind) {
  std::vector<cache::kv_cache_spec> shapes(
      layer_count, {.kind = kind.window > 0 ? cache::layer_kind::sliding : cache::layer_kind::full,
                    .kv_heads = static_cast<int>(shape.kv_heads),
                    .head_dim = static_cast<int>(shape.head_dim),
                    .window = kind.window});
  if (kind.recurrent) shapes.front() = shapes.back() = scan_spec.kv();
  return shapes;
}

int rounded_up(int number) { return (number + 63) / 64 * 64; }

cache::device_options options_of(const device::backend& where, const device_kind& kind, int slots,
                                 int max_sequence_length) {
  cache::device_options options{.device = where.device(),
                                .type = kind.type,
                                .slots = slots,
                                .max_sequence_length = max_sequence_length,
                                .sinks = kind.sinks};
  const int window = kind.sinks ? kind.sinks->window : kind.window;
  if (window > 0) options.ring = rounded_up(window + max_step_tokens + max_rollback_tokens);
  if (kind.kv_quantization) {
    const auto &keys = *kind.kv_quantization->keys->format(), &values = *kind.kv_quantization->values->format();
    options.quantization = cache::device_quantization{
        .keys = keys,
        .values = values,
        .residual = kind.kv_quantization->residual,
        .head_bytes = where.make_operators()->quantized_head_bytes(keys, values, shape.head_dim)};
    options.ring = rounded_up(kind.kv_quantization->residual + 64 + max_step_tokens + max_rollback_tokens);
  }
  if (kind.host) options.host = where.make_host(slots * cache::device_cache::slot_bytes(shapes_of(kind), options));
  if (kind.pages)
    options.pages = cache::device_pages{
        .page_bytes = where.page_bytes(), .limit = std::int64_t{1} << 30, .reserve = [&where](std::int64_t bytes) {
          return where.reserve(bytes, std::int64_t{1} << 30);
        }};
  return options;
}

cache::quantization with_residual(cache::quantization form) {
  form.residual = 20;
  return form;
}

/// Query, keys and values of a token, or as many numbers that go into a scan.
void write_numbers(token id, int position, int layer, float* target) {
  std::minstd_rand random(static_cast<unsigned>(id) * 7919U + static_cast<unsigned>(position) * 31U +
                          static_cast<unsigned>(layer));
  for (std::int64_t i = 0; i < (shape.heads + 2 * shape.kv_heads) * shape.head_dim; ++i)
    target[i] = static_cast<float>(random() % 4001) / 1000 - 2;
}

/// Turns that leave everything as it is.
device::rotation no_turns(at::Device device) {
  auto near = at::zeros({max_positions, shape.head_dim}, at::kFloat);
  near.narrow(1, 0, shape.head_dim / 2).fill_(1);
  return {.near = near.to(device), .far = near.narrow(0, 0, 1).to(device)};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const device_kind& kind) { return out << kind.name; }

const std::vector<device_kind>& device_kinds() {
  static const std::vector<device_kind> kinds{
      {.name = "whole"},
      {.name = "window", .window = 50},
      {.name = "sinks", .sinks = cache::sink_window{.sinks = 4, .window = 50}},
      {.name = "many sinks", .sinks = cache::sink_window{.sinks = 64, .window = 10}},
      {.name = "int8", .kv_quantization = with_residual(cache::int8())},
      {.name = "int8_int4", .kv_quantization = with_residual(cache::int8_int4())},
      {.name = "int4", .kv_quantization = with_residual(cache::int4())},
      {.name = "kivi2", .kv_quantization = with_residual(cache::kivi2())},
      {.name = "far", .host = true},
      {.name = "states", .recurrent = true},
      {.name = "states and a window", .window = 50, .recurrent = true},
      {.name = "pages", .pages = true},
      {.name = "states and pages", .recurrent = true, .pages = true},
      {.name = "fp8 pages", .pages = true, .type = at::kFloat8_e4m3fn},
      {.name = "fp8", .type = at::kFloat8_e4m3fn},
      {.name = "fp8 sinks", .sinks = cache::sink_window{.sinks = 4, .window = 50}, .type = at::kFloat8_e4m3fn},
      {.name = "fp8 far", .host = true, .type = at::kFloat8_e4m3fn}};
  return kinds;
}

/// What a step is run with.
class kept_slots::steps {
 public:
  steps(const device::backend& where, device::stream& work, const cache::device_cache& memory)
      : block(where, 256), turn(no_turns(where.device())), scan(seeded_scan(where, type, scan_spec)) {
    if (memory.on_host()) prefetcher = std::make_unique<nn::kv_prefetcher>(where, work, memory);
  }

  nn::step_block block;
  device::rotation turn;
  device::selective_scan scan;
  std::unique_ptr<nn::kv_prefetcher> prefetcher;
};

kept_slots::kept_slots(std::shared_ptr<const device::backend> where, const device_kind& kind, int slots,
                       int max_sequence_length)
    : where_(std::move(where)),
      operators_(where_->make_operators()),
      queue_(where_->make_stream()),
      memory_(shapes_of(kind), options_of(*where_, kind, slots, max_sequence_length)),
      steps_(std::make_unique<steps>(*where_, *queue_, memory_)) {}

kept_slots::~kept_slots() = default;

at::Tensor kept_slots::run(const std::vector<new_tokens>& rows, bool single_rows) {
  std::vector<nn::token_row> written;
  std::vector<cache::step_row> step;
  for (const auto& row : rows) {
    written.push_back({row.slot, row.tokens});
    step.push_back({row.slot, static_cast<int>(row.tokens.size())});
  }
  const cache::step advanced(std::move(step));
  at::Tensor result;
  queue_->run_on_stream([&] {
    for (const auto& row : advanced.rows()) memory_.reserve(row.slot, row.count);
    auto& [block, turn, scan, prefetcher] = *steps_;
    const std::int64_t tokens = advanced.tokens();
    if (single_rows && !memory_.has_states())
      block.write_each(written, memory_, tokens);
    else
      block.write(written, memory_, {});
    block.send();
    if (prefetcher) prefetcher->begin(written);
    const auto like = at::TensorOptions(where_->device()).dtype(type);
    std::vector<at::Tensor> outs;
    for (int layer = 0; layer < memory_.layers(); ++layer) {
      auto numbers = at::empty({tokens, (shape.heads + 2 * shape.kv_heads) * shape.head_dim}, at::kFloat);
      float* target = numbers.mutable_data_ptr<float>();
      for (const auto& row : rows)
        for (std::size_t i = 0; i < row.tokens.size(); ++i, target += numbers.size(1))
          write_numbers(row.tokens[i], memory_.length(row.slot) + static_cast<int>(i), layer, target);
      const auto& kept = memory_.layer(layer);
      const device::qkv_rows qkv{numbers.to(like.device(), like.dtype()),
                                 at::empty({tokens, shape.heads * shape.head_dim}, like)};
      const auto out = outs.emplace_back(at::empty({tokens, shape.heads * shape.head_dim}, like));
      if (kept.states.defined()) {
        operators_->scan(qkv.qkv, scan, block.rows(), kept, out);
        continue;
      }
      if (prefetcher) prefetcher->wait_layer(layer);
      operators_->rotate_and_append(qkv, shape, turn, block.rows(), kept);
      if (prefetcher) prefetcher->store_layer(layer);
      operators_->attend(qkv, shape, block.rows(), kept, out);
    }
    if (prefetcher) prefetcher->end();
    memory_.advance(advanced);
    queue_->wait();
    result = at::stack(outs).to(at::kCPU, at::kFloat);
  });
  return result;
}

void kept_slots::copy(int source, int target, int end) {
  queue_->run_on_stream([&] { memory_.copy(source, target, end); });
  queue_->wait();
}

std::vector<at::Tensor> kept_slots::take_away(int slot) {
  std::vector<at::Tensor> kept;
  queue_->run_on_stream([&] {
    for (const auto& part : memory_.parts_of(slot, memory_.length(slot))) kept.push_back(part.to(at::kCPU).clone());
  });
  queue_->wait();
  memory_.clear(slot);
  return kept;
}

void kept_slots::put_back(int slot, int length, const std::vector<at::Tensor>& parts) {
  memory_.fill(slot, length);
  const auto targets = memory_.parts_of(slot, length);
  queue_->run_on_stream([&] {
    for (std::size_t part = 0; part < parts.size(); ++part) targets[part].copy_(parts[part]);
  });
  queue_->wait();
}

}  // namespace cogen::test
