#include "kept_engines.hpp"

#include "../models/plain_layer.hpp"
#include "../repetitions.hpp"

#include <utility>

namespace cogen::test {
namespace {

void behind(engine_options& options) {
  options.kv.offload = true;
  options.kv.transfer = std::make_shared<cache::worker_transfer>();
}

}  // namespace

keep quantized(cache::quantization scheme) {
  scheme.residual = 8;
  return [scheme](engine_options& options) { options.kv.quantization = scheme; };
}

std::unique_ptr<cache::layer> own_first_layer(int index, const cache::kv_cache_spec& shape,
                                              const cache::slot_table& slots) {
  if (index > 0 || shape.kind == cache::layer_kind::recurrent) return nullptr;
  return std::make_unique<plain_layer>(shape, cache::scalar::f32, slots);
}

std::ostream& operator<<(std::ostream& out, const kept_engine& kept) {
  return out << kept.golden << ' ' << kept.kind << ' ' << kept.device;
}

std::vector<kept_engine> kept_engines() {
  const std::vector<std::pair<std::string, keep>> kinds{
      {"plain", [](engine_options&) {}},
      {"int8", quantized(cache::int8())},
      {"kivi2", quantized(cache::kivi2())},
      {"sinks", [](engine_options& options) { options.kv.sinks = {.sinks = 4, .window = 12}; }},
      {"offloaded", behind},
      {"own", [](engine_options& options) { options.kv.layer_factory = own_first_layer; }},
      {"without rollback limit", [](engine_options& options) { options.kv.max_rollback_tokens = 0; }},
  };
  std::vector<kept_engine> engines;
  for (const std::string golden :
       {"llama_default", "mistral_window", "gemma3_text", "minicpm3_scaled", "mamba_tiny", "jamba_tiny", "bart_tiny"})
    for (const auto& [name, change] : kinds) engines.push_back({golden, name, change});
  for (const std::string golden : {"llama_gguf", "minicpm3_scaled", "jamba_tiny"})
    engines.push_back(
        {golden, "fast products", [](engine_options& options) { options.compute_type = compute_type::int8; }});
  if (!sanitized) return engines;
  // Each kind with attention and with recurrent layers, and each model with the plain one.
  std::erase_if(engines, [](const kept_engine& kept) {
    return kept.kind != "plain" && kept.kind != "fast products" && kept.golden != "llama_default" &&
           kept.golden != "jamba_tiny";
  });
  return engines;
}

std::vector<kept_engine> kept_engines_everywhere() {
  const auto suits = [](const kept_engine& kept) {
    if (kept.golden == "llama_default" || kept.golden == "minicpm3_scaled")
      return kept.kind != "own" && kept.kind != "fast products";
    if (kept.golden == "mamba_tiny") return kept.kind != "own" && kept.kind != "offloaded";
    const bool windows = kept.golden == "mistral_window" || kept.golden == "gemma3_text";
    return windows && (kept.kind == "plain" || kept.kind == "offloaded" || kept.kind == "without rollback limit");
  };
  auto engines = kept_engines();
  if (!has_devices) return engines;
  for (auto each : kept_engines()) {
    each.device = "reference";
    if (suits(each)) engines.push_back(each);
  }
  return engines;
}

std::vector<std::string> all_hybrids() {
  return {"bamba_biased",         "bamba_published",       "falcon_h1_normed",
          "falcon_h1_scaled",     "granite4_published",    "granite4_moe_published",
          "granite4_odd",         "granite4_rotary",       "jamba_dense",
          "jamba_tiny",           "lfm2_biased",           "lfm2_published",
          "lfm2_moe_published",   "lfm2_moe_scaled",       "mamba_biased",
          "mamba_tiny",           "mamba2_biased",         "mamba2_published",
          "mamba2_odd",           "nemotron_h_latent",     "nemotron_h_moe",
          "nemotron_h_published", "qwen3_5_interval",      "qwen3_5_published",
          "qwen3_5_typed",        "qwen3_5_moe_published", "qwen3_5_moe_typed",
          "qwen3_5_mtp",          "qwen3_next_mtp",        "qwen3_next_mixed",
          "qwen3_next_published", "rwkv_published",        "rwkv_wide",
          "zamba2_biased",        "zamba2_published"};
}

std::vector<std::string> hybrids() { return thin(all_hybrids(), 4); }

}  // namespace cogen::test
