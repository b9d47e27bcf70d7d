#include "engine/parts/device_options.hpp"

#include "network/nn/device/device_model.hpp"

#include <cogen/extend/tensors.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace cogen::detail {

namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) {
  throw std::invalid_argument("engine_options." + fmt::format(why, std::forward<Args>(args)...));
}

void check_codecs(const cache::quantization& codecs, std::string_view device) {
  if (codecs.keys->format() == nullptr || codecs.values->format() == nullptr)
    refuse("kv.quantization has keys {} and values {}; engines on {} have no codecs of your own", codecs.keys->name(),
           codecs.values->name(), device);
}

}  // namespace

void check_on_device(const engine_options& options, const nn::device_model& model) {
  const auto device = model.backend->name();
  const auto& kv = options.kv;
  const auto own = model.type();
  if (kv.layer_factory) refuse("kv.layer_factory is set; engines on {} have no layers of your own", device);
  if (options.compute_type == compute_type::int8)
    refuse("compute_type is int8; engines on {} compute in float32 alone", device);
  if (const auto type = kv.dtype ? cache::tensor_type(*kv.dtype) : own; type != own) {
    if (type != at::kFloat8_e4m3fn)
      refuse("kv.dtype is {}; engines on {} keep {} or {}", c10::toString(type), device, c10::toString(own),
             c10::toString(at::kFloat8_e4m3fn));
    if (kv.quantization)
      refuse(
          "kv.quantization and a kv.dtype of fp8 are both set; quantized caches keep their newest tokens in the "
          "model's own type");
  }
  if (kv.checkpoint_bytes.value_or(0) > 0)
    refuse("kv.checkpoint_bytes is {}; engines on {} have no checkpoints, it may be 0", *kv.checkpoint_bytes, device);
  if (kv.quantization) check_codecs(*kv.quantization, device);
  if (kv.offload && (kv.quantization || kv.sinks))
    refuse("kv.offload and {} are both set; engines on {} offload what keeps every token in full precision",
           kv.sinks ? "kv.sinks" : "kv.quantization", device);
  if (options.batch_invariant) model.backend->check_batch_invariance(model.batch_variant_part());
  const auto& shapes = model.kv_cache_specs();
  if (kv.offload && cache::device_cache::state_bytes(shapes) > 0)
    refuse("kv.offload is set; engines on {} offload models without recurrent layers", device);
  if (kv.offload && model.has_encoder())
    refuse("kv.offload is set; engines on {} offload models without an encoder", device);
  if (kv.sinks && !cache::shared_window(shapes, kv.sinks))
    refuse("kv.sinks is set; engines on {} have them where all layers have the same window", device);
}

}  // namespace cogen::detail
