#include "network/nn/device/device_layout.hpp"

#include <cogen/extend/tensors.hpp>

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace cogen::nn {

namespace {

constexpr int in_blocks(int tokens) {
  return (tokens + cache::block_tokens - 1) / cache::block_tokens * cache::block_tokens;
}

cache::device_quantization quantization_of(const device_model& model, const cache::quantization& kv_quantization) {
  const auto* keys = kv_quantization.keys->format();
  const auto* values = kv_quantization.values->format();
  const auto head_dim = cache::first_with_keys(model.kv_cache_specs()).head_dim;
  const auto operators = model.backend->make_operators();
  return cache::device_quantization{.keys = *keys,
                                    .values = *values,
                                    .residual = kv_quantization.residual,
                                    .head_bytes = operators->quantized_head_bytes(*keys, *values, head_dim),
                                    .head = operators->quantized_head_numbers(*keys, *values, head_dim)};
}

int max_encoder_input(const device_model& model, const cache::options& options) {
  if (!model.has_encoder()) return 0;
  return options.max_encoder_length > 0 ? options.max_encoder_length : options.max_sequence_length;
}

}  // namespace

cache::device_options device_layout(const device_model& model, const cache::options& options) {
  cache::device_options layout{.device = model.backend->device(),
                               .type = cache::tensor_type(options.type),
                               .slots = options.slots,
                               .max_sequence_length = options.max_sequence_length,
                               .max_encoder_length = max_encoder_input(model, options),
                               .sinks = options.sinks};
  if (options.kv_offload) return layout;
  const int new_and_cut = options.max_step_tokens + options.max_rollback_tokens;
  if (options.kv_quantization) {
    layout.quantization = quantization_of(model, *options.kv_quantization);
    layout.ring = in_blocks(layout.quantization->residual + cache::block_tokens + new_and_cut);
    return layout;
  }
  const int window = cache::shared_window(model.kv_cache_specs(), options.sinks).value_or(0);
  const int ring = window > 0 ? in_blocks(window + new_and_cut) : 0;
  const bool unbounded = options.max_sequence_length == 0;
  layout.ring = unbounded || ring < options.max_sequence_length ? ring : 0;
  return layout;
}

void check_offsets(const cache::device_cache& kv) {
  const auto rows = kv.origin(kv.slots());
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  if (kv.ring() == 0 && rows > most)
    throw std::invalid_argument(fmt::format(
        "{} slots of {} tokens are more than a device can number; slots * max_sequence_length may be at most {}",
        kv.slots(), kv.max_sequence_length(), most));
}

bool has_sinks(const cache::device_cache& kv) {
  for (int index = 0; index < kv.layers(); ++index)
    if (kv.layer(index).span.sinks > 0) return true;
  return false;
}

}  // namespace cogen::nn
