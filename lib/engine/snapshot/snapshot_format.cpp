#include "engine/snapshot/snapshot_format.hpp"

#include <fmt/format.h>

#include <limits>
#include <typeinfo>

namespace cogen::detail {

namespace {

std::string_view name_of(cache::scalar type) {
  constexpr std::string_view names[] = {"f32", "f16", "bf16", "fp8"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace

std::string format_of(const std::optional<cache::quantization>& codecs,
                      const std::optional<cache::sink_window>& sinks) {
  std::string text;
  if (codecs)
    text += fmt::format(", keys {}, values {}, the newest {} whole", codecs->keys->name(), codecs->values->name(),
                        codecs->residual);
  if (sinks) text += fmt::format(", {} sinks and a window of {}", sinks->sinks, sinks->window);
  return text;
}

std::string format_of(const cache::options& options) {
  auto text = std::string(name_of(options.type)) + format_of(options.kv_quantization, options.sinks);
  if (options.kv_offload) text += ", offloaded";
  return text;
}

std::string snapshot_format(const cache::options& options, const cache::cache& cache, bool layer_factory,
                            compute_type mode) {
  auto text = format_of(options);
  if (cache.max_step_tokens() < std::numeric_limits<int>::max())
    text += fmt::format(", rings for steps of {} and a rollback of {}", options.max_step_tokens,
                        options.max_rollback_tokens);
  if (layer_factory)
    for (int index = 0; index < cache.layers(); ++index) {
      const auto& layer = cache.layer(index);
      text += fmt::format(", {}", typeid(layer).name());
    }
  if (mode == compute_type::int8) text += ", int8 products";
  return text;
}

}  // namespace cogen::detail
