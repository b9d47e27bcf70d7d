#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/input_file.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/sampling_params.hpp>

#include <algorithm>
#include <limits>

namespace cogen::load {
namespace {

constexpr std::int64_t largest_count = std::numeric_limits<int>::max();
constexpr real_range shares{0, 1};
constexpr real_range temperatures{0, sampling_params::max_temperature};
constexpr real_range penalties{sampling_params::min_repetition_penalty, sampling_params::max_repetition_penalty};

std::optional<double> real(const config_fields& fields, std::string_view key, real_range range) {
  return fields.has(key) ? std::optional(fields.real(key, range)) : std::nullopt;
}

/// -1 is all, too.
std::optional<std::int64_t> top_k(const config_fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::nullopt;
  return std::max<std::int64_t>(0, fields.integer(key, {-1, largest_count}));
}

generation_defaults in_json(const config_fields& fields) {
  generation_defaults found{.temperature = real(fields, "temperature", temperatures),
                            .top_p = real(fields, "top_p", shares),
                            .min_p = real(fields, "min_p", shares),
                            .repetition_penalty = real(fields, "repetition_penalty", penalties),
                            .top_k = top_k(fields, "top_k")};
  if (fields.has("max_new_tokens"))
    found.max_tokens = static_cast<int>(fields.integer("max_new_tokens", {1, largest_count}));
  return found;
}

generation_defaults in_gguf(const config_fields& fields) {
  return {.temperature = real(fields, "general.sampling.temp", temperatures),
          .top_p = real(fields, "general.sampling.top_p", shares),
          .min_p = real(fields, "general.sampling.min_p", shares),
          .repetition_penalty = real(fields, "general.sampling.penalty_repeat", penalties),
          .top_k = top_k(fields, "general.sampling.top_k")};
}

generation_defaults in_file(const std::filesystem::path& file) {
  return in_json(config_fields::from_json(read_text(file, largest_settings_file), file.string()));
}

}  // namespace

generation_defaults read_generation_defaults(const std::filesystem::path& path) {
  const auto file = path / "generation_config.json";
  if (is_there(file)) return in_file(file);
  if (path.extension() == ".json") return in_file(path);
  const checkpoint files(path);
  return files.fields().is_gguf() ? in_gguf(files.fields()) : generation_defaults();
}

}  // namespace cogen::load
