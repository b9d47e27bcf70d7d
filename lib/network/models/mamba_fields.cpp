#include "network/models/mamba_fields.hpp"

#include "formats/checkpoint/field_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace cogen::models {
namespace {

constexpr load::integer_range expansions{1, 1 << 10};
constexpr load::integer_range state_sizes{1, 1 << 12};
constexpr load::integer_range convolutions{1, 1 << 8};

struct mamba_names {
  std::string_view state, convolution, expand, time_step_rank, bias, convolution_bias;
};

constexpr mamba_names mamba_mixer_keys{"state_size",     "conv_kernel", "expand",
                                       "time_step_rank", "use_bias",    "use_conv_bias"};
constexpr mamba_names jamba_mixer_keys{"mamba_d_state", "mamba_d_conv",    "mamba_expand",
                                       "mamba_dt_rank", "mamba_proj_bias", "mamba_conv_bias"};

// As in Transformers, whatever a file may say under intermediate_size.
std::int64_t expanded(const load::config_fields& fields, std::string_view key, std::int64_t hidden) {
  const auto inner = hidden * fields.integer(key, expansions, 2);
  if (inner > load::inner_widths.highest) {
    fields.refuse(key, fmt::format("it makes {} channels; {} are allowed", inner, load::inner_widths.highest));
  }
  return inner;
}

// "auto" stands for a sixteenth of the hidden size, rounded up.
std::int64_t rank_of(const load::config_fields& fields, std::string_view key, std::int64_t hidden) {
  if (!fields.has(key) || fields.is(key, "auto")) return (hidden + 15) / 16;
  return fields.integer(key, load::inner_widths);
}

mamba_fields read(const load::config_fields& fields, const mamba_names& keys, const load::model_config& config) {
  return {.inner = expanded(fields, keys.expand, config.hidden),
          .state = fields.integer(keys.state, state_sizes, 16),
          .convolution = fields.integer(keys.convolution, convolutions, 4),
          .time_step_rank = rank_of(fields, keys.time_step_rank, config.hidden),
          .bias = fields.boolean(keys.bias, false),
          .convolution_bias = fields.boolean(keys.convolution_bias, true)};
}

struct mamba2_key_names {
  std::string_view heads, head_width, groups;
  mamba_names common;
  mamba2_fields defaults;
  std::int64_t channels = 0;  // of a file that does not give them; 0: as many as it expands to
};

constexpr mamba2_key_names mamba2_keys{
    .heads = "num_heads",
    .head_width = "head_dim",
    .groups = "n_groups",
    .common = mamba_mixer_keys,
    .defaults = {.heads = 128, .head_width = 64, .groups = 8, .state = 128, .convolution = 4}};

constexpr mamba2_key_names granite_keys{
    .heads = "mamba_n_heads",
    .head_width = "mamba_d_head",
    .groups = "mamba_n_groups",
    .common = jamba_mixer_keys,
    .defaults = {.heads = 128, .head_width = 0, .groups = 1, .state = 256, .convolution = 4}};

constexpr mamba2_key_names falcon_keys{.heads = granite_keys.heads,
                                       .head_width = granite_keys.head_width,
                                       .groups = granite_keys.groups,
                                       .common = granite_keys.common,
                                       .defaults = granite_keys.defaults,
                                       .channels = 1024};

constexpr mamba2_key_names nemotron_keys{
    .heads = "mamba_num_heads",
    .head_width = "mamba_head_dim",
    .groups = "n_groups",
    .common = {.state = "ssm_state_size",
               .convolution = "conv_kernel",
               .expand = "",
               .time_step_rank = "",
               .bias = "use_bias",
               .convolution_bias = "use_conv_bias"},
    .defaults = {.heads = 128, .head_width = 64, .groups = 8, .state = 128, .convolution = 4}};

constexpr mamba2_key_names zamba_keys{.heads = "n_mamba_heads",
                                      .head_width = "mamba_headdim",
                                      .groups = "mamba_ngroups",
                                      .common = {.state = "mamba_d_state",
                                                 .convolution = "mamba_d_conv",
                                                 .expand = "mamba_expand",
                                                 .time_step_rank = "",
                                                 .bias = "add_bias_linear",
                                                 .convolution_bias = ""},
                                      .defaults = {.heads = 8, .head_width = 0, .groups = 1, .state = 64}};

// "auto" stands for an equal share of the channels.
std::int64_t head_width(const load::config_fields& fields, const mamba2_key_names& keys, std::int64_t inner,
                        std::int64_t heads) {
  const bool is_free = !fields.has(keys.head_width) && keys.defaults.head_width == 0;
  if (is_free || fields.is(keys.head_width, "auto")) return std::max<std::int64_t>(1, inner / heads);
  return fields.integer(keys.head_width, load::inner_widths, keys.defaults.head_width);
}

// Heads of that width must be what the channels are divided into.
void check_channels(const load::config_fields& fields, const mamba2_key_names& keys, std::int64_t inner,
                    const mamba2_fields& read) {
  if (read.heads * read.head_width == inner) return;
  const bool is_given = fields.has("mamba_d_ssm") || keys.channels != 0;
  const auto channels = is_given ? "mamba_d_ssm" : fmt::format("hidden_size * {}", keys.common.expand);
  fields.refuse(keys.heads,
                fmt::format("times {} = {} it must be {} = {}", keys.head_width, read.head_width, channels, inner));
}

std::int64_t channels(const load::config_fields& fields, const mamba2_key_names& keys,
                      const load::model_config& config) {
  constexpr std::string_view key = "mamba_d_ssm";
  if (fields.has(key)) return fields.integer(key, load::inner_widths);
  if (keys.channels != 0 && !fields.is_null(key)) return keys.channels;
  return expanded(fields, keys.common.expand, config.hidden);
}

void read_head_width(const load::config_fields& fields, const mamba2_key_names& keys, const load::model_config& config,
                     mamba2_fields& result) {
  if (keys.common.expand.empty()) {
    result.head_width = fields.integer(keys.head_width, load::inner_widths, keys.defaults.head_width);
    return;
  }
  const auto inner = channels(fields, keys, config);
  result.head_width = head_width(fields, keys, inner, result.heads);
  check_channels(fields, keys, inner, result);
}

mamba2_fields read(const load::config_fields& fields, const mamba2_key_names& keys, const load::model_config& config) {
  const auto& usual = keys.defaults;
  mamba2_fields result{.heads = fields.integer(keys.heads, load::head_counts, usual.heads),
                       .groups = fields.integer(keys.groups, load::head_counts, usual.groups),
                       .state = fields.integer(keys.common.state, state_sizes, usual.state),
                       .convolution = fields.integer(keys.common.convolution, {2, convolutions.highest}, 4),
                       .bias = fields.boolean(keys.common.bias, false),
                       .convolution_bias = fields.boolean(keys.common.convolution_bias, true)};
  read_head_width(fields, keys, config, result);
  if (result.heads % result.groups != 0)
    fields.refuse(keys.groups, fmt::format("{} = {} must be a multiple of it", keys.heads, result.heads));
  return result;
}

std::int64_t offset_within(const load::config_fields& fields, std::string_view key, std::int64_t period,
                           std::int64_t fallback) {
  const auto offset = fields.integer(key, {0, load::layer_periods.highest}, fallback);
  if (offset >= period) fields.refuse(key, fmt::format("it must be below the period {}", period));
  return offset;
}

std::string_view experts_key(const load::config_fields& fields) {
  return fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
}

}  // namespace

mamba_fields read_mamba_fields(const load::config_fields& fields, const load::model_config& config) {
  return read(fields, mamba_mixer_keys, config);
}

mamba2_fields read_mamba2_fields(const load::config_fields& fields, const load::model_config& config) {
  return read(fields, mamba2_keys, config);
}

mamba2_fields read_granite_mamba2_fields(const load::config_fields& fields, const load::model_config& config) {
  return read(fields, granite_keys, config);
}

mamba2_fields read_falcon_mamba2_fields(const load::config_fields& fields, const load::model_config& config) {
  return read(fields, falcon_keys, config);
}

mamba2_fields read_nemotron_mamba2_fields(const load::config_fields& fields, const load::model_config& config) {
  return read(fields, nemotron_keys, config);
}

mamba2_fields read_zamba_mamba2_fields(const load::config_fields& fields, const load::model_config& config) {
  return read(fields, zamba_keys, config);
}

jamba_fields read_jamba_fields(const load::config_fields& fields, const load::model_config& config) {
  jamba_fields jamba;
  jamba.mamba = read(fields, jamba_mixer_keys, config);
  jamba.attention_period = fields.integer("attn_layer_period", load::layer_periods, 8);
  jamba.attention_offset = offset_within(fields, "attn_layer_offset", jamba.attention_period, 4);
  jamba.expert_period = fields.integer("expert_layer_period", load::layer_periods, 2);
  jamba.expert_offset = offset_within(fields, "expert_layer_offset", jamba.expert_period, 1);
  jamba.experts = fields.integer(experts_key(fields), load::expert_counts, 16);
  if (jamba.experts > 1) jamba.experts_per_token = fields.integer("num_experts_per_tok", {1, jamba.experts}, 2);
  return jamba;
}

}  // namespace cogen::models
