#include "cache_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>

namespace cogen::golden {

namespace {

/// Little stays in full precision, so that short goldens are read quantized, too.
cache::options packed(cache::quantization scheme) {
  scheme.residual = 8;
  return {.type = cache::scalar::f32, .kv_quantization = scheme};
}

cache::options behind(cache::options options) {
  options.kv_offload = std::make_shared<cache::worker_transfer>();
  return options;
}

}  // namespace

const std::vector<cache_choice>& cache_choices() {
  static const std::vector<cache_choice> choices = {
      {"f32", {.type = cache::scalar::f32}, 2e-4F, 2e-3F},
      {"f16", {.type = cache::scalar::f16}, 0.05F, 0.05F},
      {"bf16", {.type = cache::scalar::bf16}, 0.5F, 0.5F},
      {"dynamic", {.kind = cache::cache_kind::dynamic, .type = cache::scalar::f32}, 2e-4F, 2e-3F},
      {"offloaded", behind({.type = cache::scalar::f32}), 2e-4F, 2e-3F},
      {"int8", packed(cache::int8()), 0.5F, 0.5F},
      {"int8_int4", packed(cache::int8_int4()), 3.0F, 3.0F},
      {"int4", packed(cache::int4()), 4.0F, 4.0F},
      {"offloaded_int8", behind(packed(cache::int8())), 0.5F, 0.5F},
  };
  return choices;
}

const cache_choice& cache_choice_named(const std::string& name) {
  const auto found = std::ranges::find(cache_choices(), name, &cache_choice::name);
  if (found != cache_choices().end()) return *found;
  throw std::invalid_argument(fmt::format("--kv {}: there are {}", name, cache_choice_names()));
}

std::string cache_choice_names() {
  const auto& choices = cache_choices();
  std::string names = choices.front().name;
  for (std::size_t i = 1; i < choices.size(); ++i) names += (i + 1 < choices.size() ? ", " : " or ") + choices[i].name;
  return names;
}

}  // namespace cogen::golden
