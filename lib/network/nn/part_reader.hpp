#pragma once

#include "network/backend/parts.hpp"
#include "network/models/model_spec.hpp"
#include "network/weights/latent_rows.hpp"
#include "network/weights/mixer_rows.hpp"
#include "network/weights/mlp_rows.hpp"
#include "network/weights/qkv_rows.hpp"
#include "network/weights/sinusoids.hpp"

#include <cogen/load/model_config.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::nn {

/// Reads the parts of a spec in the forms of a backend B. Rotations and tables that several parts use are read once.
template <class B, class Weights>
class part_reader {
 public:
  /// `vocabulary` is the spec's.
  part_reader(const load::model_config& config, const models::shard& vocabulary, Weights& weights)
      : config_(config), vocabulary_(vocabulary), weights_(weights) {}

  parts::embedding<B> read(const models::embedding_spec& spec) {
    const auto width = spec.width == 0 ? config_.hidden : spec.width;
    parts::embedding<B> result{.table = table(spec.names, width),
                               .vocabulary = vocabulary_,
                               .scale = static_cast<float>(spec.scale),
                               .width = width};
    if (!spec.projection.empty())
      result.to_hidden = project({{.name = spec.projection, .rows = config_.hidden}}, width, false);
    if (spec.positions) result.positions = positions(*spec.positions);
    if (spec.positions && spec.positions->type_count > 1) result.second_text = config_.max_positions;
    result.after = read(spec.norm);
    return result;
  }

  parts::head<B> read(const models::head_spec& spec, const models::embedding_spec& embedding) {
    const auto width = spec.width == 0 ? config_.hidden : spec.width;
    parts::head<B> result{.width = width,
                          .product = {table(spec.names.empty() ? embedding.names : spec.names, width)},
                          .vocabulary = vocabulary_,
                          .scale = static_cast<float>(spec.scale),
                          .softcap = spec.softcap};
    if (!spec.projection.empty())
      result.to_width = project({{.name = spec.projection, .rows = width}}, config_.hidden, false);
    read_bias(spec, result.product);
    return result;
  }

  std::optional<parts::layer_inputs<B>> read(const std::optional<models::layer_inputs_spec>& spec) {
    if (!spec) return std::nullopt;
    const auto width = spec->layers * spec->width;
    return parts::layer_inputs<B>{
        .table = weights_.table({.name = spec->table + ".weight", .rows = spec->vocabulary}, width),
        .vocabulary = spec->vocabulary,
        .scale = static_cast<float>(spec->table_scale),
        .width = width,
        .projection = project({{.name = spec->projection, .rows = width}}, config_.hidden, false),
        .norm = weights_.norm(spec->norm, spec->width)};
  }

  std::optional<parts::streams<B>> read(const std::optional<models::streams_spec>& spec) {
    if (!spec) return std::nullopt;
    parts::streams<B> result;
    for (std::int64_t index = 0; index + 1 < spec->count; ++index) {
      result.in.push_back(stream(*spec, spec->in, index));
      result.out.push_back(stream(*spec, spec->out, index));
    }
    return result;
  }

  typename B::norm read(const models::norm_spec& spec) { return weights_.norm(spec, config_.hidden); }

  typename B::norm read(const std::optional<models::norm_spec>& spec) { return read(spec, config_.hidden); }

  typename B::norm read(const std::optional<models::norm_spec>& spec, std::int64_t width) {
    if (!spec) return {};
    return weights_.norm(*spec, width);
  }

  /// Its blocks' layers of the cache begin at `first_layer`.
  parts::mtp<B> read(const models::mtp_spec& spec, int first_layer) {
    return {.embedding_norm = read(spec.embedding_norm),
            .hidden_norm = read(spec.hidden_norm),
            .projection = project({{.name = spec.projection, .rows = config_.hidden}}, 2 * config_.hidden, false),
            .blocks = read(spec.blocks, false, first_layer),
            .final_norm = read(spec.final_norm)};
  }

  std::vector<parts::block<B>> read(const std::vector<models::block_spec>& specs, bool encoder = false,
                                    int first_layer = 0) {
    std::vector<parts::block<B>> blocks;
    int layer = first_layer;
    for (const auto& spec : specs) {
      blocks.push_back({.part = read_part(spec, layer, encoder),
                        .pre_norm = read(spec.pre_norm, inputs_of(spec)),
                        .after = {read(spec.after), spec.residual_scale, read(spec.post)},
                        .parallel = spec.parallel,
                        .feeds_next = spec.feeds_next});
      read_end(spec, blocks.back());
      if (blocks.back().mixes_tokens() && !shares_kv(spec) && !encoder) ++layer;
    }
    return blocks;
  }

 private:
  using part = typename B::block_part;
  using projection = typename B::projection;
  using named_rows = weights::named_rows;

  void read_end(const models::block_spec& spec, parts::block<B>& block) {
    if (spec.shared_norm) block.shared_norm.emplace(read(spec.shared_norm));
    block.after.total = spec.total_scale;
    if (!spec.scalar.empty())
      (block.shared_norm ? *block.shared_norm : block.after).total =
          weights_.numbers(spec.scalar + ".weight", {1}).front();
  }

  std::int64_t inputs_of(const models::block_spec& spec) const {
    const auto* attention = std::get_if<models::attention_spec>(&spec.part);
    return attention == nullptr ? config_.hidden : attention->inputs(config_.hidden);
  }

  static bool shares_kv(const models::block_spec& spec) {
    const auto* attention = std::get_if<models::attention_spec>(&spec.part);
    return attention != nullptr && attention->shared_kv;
  }

  part read_part(const models::block_spec& spec, int layer, bool encoder) {
    if (const auto* attention = std::get_if<models::attention_spec>(&spec.part)) {
      if (attention->kv.kind == cache::layer_kind::cross && !encoder) return cross(*attention, spec.prefix, layer);
      return self_attention(*attention, spec.prefix, layer);
    }
    if (const auto* latent = std::get_if<models::latent_attention_spec>(&spec.part))
      return latent_attention(*latent, spec.prefix, layer);
    if (const auto* mamba = std::get_if<models::mamba_spec>(&spec.part)) return mixer(*mamba, spec.prefix, layer);
    if (const auto* mlp = std::get_if<models::mlp_spec>(&spec.part)) return feed_forward(*mlp, spec.prefix);
    if (const auto* moe = std::get_if<models::moe_spec>(&spec.part)) return experts(*moe, spec.prefix);
    if (const auto* linear = std::get_if<models::linear_spec>(&spec.part)) return product(*linear, spec.prefix);
    if (const auto* input = std::get_if<models::layer_input_spec>(&spec.part)) return layer_input(*input, spec.prefix);
    if (const auto* low = std::get_if<models::low_rank_spec>(&spec.part)) return low_rank(*low, spec.prefix);
    if (const auto* step = std::get_if<models::stream_step_spec>(&spec.part)) return stream_step(*step, spec.prefix);
    if (const auto* net = std::get_if<models::delta_net_spec>(&spec.part)) return recurrent(*net, spec.prefix, layer);
    if (const auto* mamba = std::get_if<models::mamba2_spec>(&spec.part)) return recurrent(*mamba, spec.prefix, layer);
    if (const auto* times = std::get_if<models::time_mix_spec>(&spec.part)) return time_mix(*times, spec.prefix, layer);
    if (const auto* channels = std::get_if<models::channel_mix_spec>(&spec.part))
      return channel_mix(*channels, spec.prefix, layer);
    return recurrent(std::get<models::short_convolution_spec>(spec.part), spec.prefix, layer);
  }

  part self_attention(const models::attention_spec& spec, const std::string& prefix, int layer) {
    const auto rows = weights::qkv_rows(spec, prefix);
    const auto inputs = spec.inputs(config_.hidden);
    auto qkv = adapted(project(rows, inputs, spec.qkv_bias), spec.adapters, prefix, rows, inputs);
    auto output = read_output(spec, prefix);
    const auto numbers = weights::read_head_numbers(spec, prefix, weights_.number_reader());
    return parts::attention<B>{.qkv = std::move(qkv),
                               .heads = B::make_heads(weights_, spec, numbers, rotation(spec.rope)),
                               .output = std::move(output),
                               .layer = spec.shared_kv.value_or(layer),
                               .reads_embeddings = spec.reads_embeddings};
  }

  part latent_attention(const models::latent_attention_spec& spec, const std::string& prefix, int layer) {
    if constexpr (can_run<parts::latent_attention<B>>) {
      parts::latent_attention<B> result{
          .spec = spec,
          .in = project(weights::latent_in_rows(spec, prefix), config_.hidden, false),
          .q_norm = {},
          .q = {},
          .kv_norm = latent_norm(spec, prefix + spec.kv_norm, spec.kv_rank),
          .absorb = {},
          .heads = B::make_heads(weights_, spec.absorbed(), {}, rotation(spec.rope)),
          .expand = {},
          .output = shard_product(weights::latent_output_rows(spec, prefix, config_.hidden),
                                  std::int64_t{spec.heads} * spec.value_dim, spec.output_bias, spec.q_shard),
          .layer = layer};
      if (spec.down_bias)
        result.in.bias = weights_.as_vector(weights::latent_in_bias(spec, prefix, weights_.number_reader()));
      if (spec.q_rank > 0) {
        result.q_norm = latent_norm(spec, prefix + spec.q_norm, spec.q_rank);
        result.q = project({weights::query_rows(spec, prefix + spec.q_up)}, spec.q_rank, false);
      }
      for (int head = 0; head < spec.heads; ++head) {
        result.absorb.push_back(project_as_stored({weights::absorbing_rows(spec, prefix, head)}, spec.nope_dim, false));
        result.expand.push_back(project_as_stored({weights::expanding_rows(spec, prefix, head)}, spec.kv_rank, false));
      }
      result.into_latents = stack(result.absorb);
      result.out_of_latents = stack(result.expand);
      return result;
    } else {
      refuse("latent attention");
    }
  }

  typename B::norm latent_norm(const models::latent_attention_spec& spec, std::string name, std::int64_t width) {
    return weights_.norm({.name = std::move(name), .epsilon = spec.norm_epsilon}, width);
  }

  part cross(const models::attention_spec& spec, const std::string& prefix, int layer) {
    if constexpr (can_run<parts::cross_attention<B>>) {
      const auto rows = weights::cross_rows(spec, prefix);
      return parts::cross_attention<B>{.q = project({rows[0]}, config_.hidden, spec.qkv_bias),
                                       .kv = project({rows[1], rows[2]}, config_.hidden, spec.qkv_bias),
                                       .heads = B::make_heads(weights_, spec, {}, {}),
                                       .output = read_output(spec, prefix),
                                       .layer = layer};
    } else {
      refuse("attention to an encoder input");
    }
  }

  part mixer(const models::mamba_spec& spec, const std::string& prefix, int layer) {
    auto in = project({{.name = prefix + "in_proj", .rows = 2 * spec.channels}}, config_.hidden, spec.bias);
    auto scan = typename B::scan(weights_, prefix, spec);
    auto output = project({{.name = prefix + "out_proj", .rows = config_.hidden}}, spec.channels, spec.bias);
    return parts::mamba<B>{.in = std::move(in), .scan = std::move(scan), .output = std::move(output), .layer = layer};
  }

  template <class Spec>
  part recurrent(const Spec& spec, const std::string& prefix, int layer) {
    auto in = project(weights::in_rows(spec, prefix), config_.hidden, spec.bias);
    const auto deciding = weights::decision_rows(spec, prefix);
    auto decisions = deciding.empty() ? projection{} : project_as_stored(deciding, config_.hidden, spec.bias);
    return parts::recurrent_mixer<B>{
        .in = std::move(in),
        .decisions = std::move(decisions),
        .mixer = B::read_mixer(weights_, prefix, spec),
        .output = project({{.name = prefix + "out_proj", .rows = config_.hidden}}, spec.out_width(), spec.bias),
        .layer = layer};
  }

  part time_mix(const models::time_mix_spec& spec, const std::string& prefix, int layer) {
    const auto in = [&](const char* name) {
      return project({{.name = prefix + name, .rows = spec.channels}}, spec.inputs, false);
    };
    return parts::time_mix<B>{
        .spec = spec,
        .mixes = mixes({"key", "value", "receptance"}, prefix),
        .in = {in("key"), in("value"), in("receptance")},
        .decay = weights_.in_float32(weights::decays_of(weights_.numbers(prefix + "time_decay", {spec.channels}))),
        .first = weights_.in_float32(weights_.numbers(prefix + "time_first", {spec.channels})),
        .output = project({{.name = prefix + "output", .rows = spec.inputs}}, spec.channels, false),
        .layer = layer};
  }

  part channel_mix(const models::channel_mix_spec& spec, const std::string& prefix, int layer) {
    return parts::channel_mix<B>{
        .spec = spec,
        .mixes = mixes({"key", "receptance"}, prefix),
        .in = {project({{.name = prefix + "key", .rows = spec.intermediate}}, spec.inputs, false),
               project({{.name = prefix + "receptance", .rows = spec.inputs}}, spec.inputs, false)},
        .product = project({{.name = prefix + "value", .rows = spec.inputs}}, spec.intermediate, false),
        .layer = layer};
  }

  /// PREFIX + "time_mix_" + NAME of each.
  auto mixes(const std::vector<std::string>& names, const std::string& prefix) {
    std::vector<float> factors;
    for (const auto& name : names)
      std::ranges::copy(weights_.numbers(prefix + "time_mix_" + name, {1, 1, config_.hidden}),
                        std::back_inserter(factors));
    return weights_.in_float32(factors);
  }

  parts::mlp<B> feed_forward(const models::mlp_spec& spec, const std::string& prefix) {
    const auto rows = weights::up_rows(spec, prefix);
    auto up = project(rows, config_.hidden, spec.bias);
    return {.up = adapted(std::move(up), spec.adapters, prefix, rows, config_.hidden),
            .activation = activation(spec, prefix),
            .intermediate = spec.intermediate,
            .down = shard_product(weights::down_rows(spec, prefix, config_.hidden), spec.intermediate, spec.bias,
                                  spec.columns)};
  }

  part product(const models::linear_spec& spec, const std::string& prefix) {
    return parts::linear<B>{
        .product = project({{.name = prefix + spec.name, .rows = config_.hidden}}, config_.hidden, false),
        .outputs = config_.hidden};
  }

  part layer_input(const models::layer_input_spec& spec, const std::string& prefix) {
    return parts::layer_input<B>{
        .gate = project({{.name = prefix + spec.gate, .rows = spec.width}}, config_.hidden, false),
        .activation = {.kind = spec.activation, .gated = false},
        .first = spec.first,
        .width = spec.width,
        .down = project({{.name = prefix + spec.down, .rows = config_.hidden}}, spec.width, false),
        .to_streams = spec.to_streams};
  }

  part low_rank(const models::low_rank_spec& spec, const std::string& prefix) {
    return parts::low_rank<B>{
        .rank = spec.rank,
        .left = project({{.name = prefix + spec.left, .rows = spec.rank}}, config_.hidden, false),
        .right = project({{.name = prefix + spec.right, .rows = config_.hidden}}, spec.rank, false),
        .norm = read(spec.norm)};
  }

  projection stream(const models::streams_spec& spec, const std::string& name, std::int64_t index) {
    named_rows rows{.name = fmt::format(fmt::runtime(name), index), .rows = config_.hidden};
    if (spec.stacked) {
      rows.stack = spec.count - 1;
      rows.index = index;
    }
    return project({rows}, config_.hidden, false);
  }

  /// Its products decide, and are never rounded.
  part stream_step(const models::stream_step_spec& spec, const std::string& prefix) {
    const auto count = spec.corrects ? spec.streams : spec.streams * spec.streams;
    parts::stream_step<B> result{
        .spec = spec,
        .norm = read(spec.norm),
        .router = project_as_stored({{.name = prefix + spec.router, .rows = spec.streams}}, config_.hidden, false),
        .coefficients = project_as_stored({{.name = prefix + spec.coefficients, .rows = count}}, spec.streams, false),
        .scale = {}};
    if (!spec.scale.empty())
      result.scale =
          weights_.vector(std::vector{named_rows{.name = prefix + spec.scale + ".weight", .rows = config_.hidden}});
    return result;
  }

  parts::activation activation(const models::mlp_spec& spec, const std::string& prefix) {
    return {.kind = spec.activation,
            .gated = !spec.gate.empty(),
            .parameters = weights::activation_parameters(spec, prefix, weights_.number_reader()),
            .gate_scale = spec.gate_scale,
            .gate_cutoff = spec.gate_cutoff};
  }

  part experts(const models::moe_spec& described, const std::string& prefix) {
    const auto spec =
        weights::as_stored(described, prefix, [this](const std::string& name) { return weights_.has(name); });
    parts::mixture_of_experts<B> result{.spec = spec, .router = router(spec, prefix), .choice_bias = {}, .experts = {}};
    const auto vector_of_experts = [&](const std::string& name) {
      return weights_.vector(std::vector{named_rows{.name = prefix + name, .rows = spec.experts}});
    };
    result.router_norm = read(spec.router.pre_norm);
    if (!spec.router.choice_bias.empty()) result.choice_bias = vector_of_experts(spec.router.choice_bias);
    if (!spec.router.share_scales.empty()) result.share_scales = vector_of_experts(spec.router.share_scales);
    if (const auto& latent = spec.latent) {
      result.into_latent =
          project({{.name = prefix + latent->down, .rows = latent->width}}, config_.hidden, latent->bias);
      result.out_of_latent = project({{.name = prefix + latent->up, .rows = config_.hidden}}, latent->width,
                                     latent->bias && spec.owned.is_first());
    }
    for (std::int64_t index = 0; index < spec.own_experts(); ++index)
      result.experts.push_back(expert(spec, prefix, spec.first_expert() + index));
    result.up = stack(result.experts, &parts::mlp<B>::up);
    result.down = stack(result.experts, &parts::mlp<B>::down);
    if (spec.shared) result.experts.push_back(feed_forward(spec.shared->mlp, prefix));
    return result;
  }

  /// In the stored numbers: products that decide are never rounded.
  projection router(const models::moe_spec& spec, const std::string& prefix) {
    std::vector<named_rows> rows{{.name = prefix + spec.router.name + ".weight", .rows = spec.experts}};
    if (spec.shared && !spec.shared->gate.empty())
      rows.push_back({.name = prefix + spec.shared->gate + ".weight", .rows = 1, .may_be_vector = true});
    projection result{weights_.matrix(rows, config_.hidden)};
    if (!spec.router.bias) return result;
    if (rows.size() > 1) throw std::invalid_argument("a router with a bias also has the gate of a shared expert");
    rows.front().name = prefix + spec.router.name + ".bias";
    result.bias = weights_.vector(rows);
    return result;
  }

  parts::mlp<B> expert(const models::moe_spec& spec, const std::string& prefix, std::int64_t index) {
    const auto inner = spec.expert.intermediate, outer = spec.latent ? spec.latent->width : config_.hidden;
    const auto read = [&](const std::vector<named_rows>& rows, std::int64_t inputs) {
      return project(rows, inputs, spec.expert.bias, spec.bias);
    };
    return {.up = read(weights::up_rows(spec, prefix, index), outer),
            .activation = activation(spec.expert, prefix),
            .intermediate = inner,
            .down = read({weights::down_rows(spec, prefix, index, outer)}, inner)};
  }

  static auto stack(std::vector<projection>& products) {
    std::vector<projection*> pointers;
    for (auto& product : products) pointers.push_back(&product);
    return B::stack(pointers);
  }

  static auto stack(std::vector<parts::mlp<B>>& experts, projection parts::mlp<B>::*member) {
    std::vector<projection*> pointers;
    for (auto& expert : experts) pointers.push_back(&(expert.*member));
    return B::stack(pointers);
  }

  projection read_output(const models::attention_spec& spec, const std::string& prefix) {
    return shard_product(weights::output_rows(spec, prefix, config_.hidden), spec.q_width(), spec.output_bias,
                         spec.q_shard);
  }

  /// The product that ends a block. Its results are added to those of other shards, and the first has the bias.
  projection shard_product(const named_rows& rows, std::int64_t inputs, bool bias, const models::shard& part) {
    auto result = project({rows}, inputs, bias && part.is_first());
    result.is_shard = static_cast<bool>(part);
    return result;
  }

  /// NAME + ".weight" of each part and, where `bias` says so, NAME + ".bias".
  projection project(const std::vector<named_rows>& parts, std::int64_t inputs, bool bias,
                     const std::string& bias_end = ".bias") {
    return with_bias(matrices(named(parts, ".weight"), inputs), parts, bias, bias_end);
  }

  /// Read once, also if several blocks name them.
  projection matrices(const std::vector<named_rows>& parts, std::int64_t inputs) {
    const auto [found, is_new] = projections_.try_emplace(parts);
    if (is_new) found->second = weights_.projection(parts, inputs);
    return found->second;
  }

  /// With adapters of its matrices, which have these rows.
  projection adapted(projection product, const std::vector<models::adapter_spec>& adapters, const std::string& prefix,
                     std::vector<named_rows> rows, std::int64_t inputs) {
    std::int64_t first = 0;
    for (std::size_t index = 0; index < adapters.size(); ++index) {
      const auto& [rank, down, up] = adapters[index];
      auto& raised = rows.at(index);
      raised.name = prefix + up + ".weight";
      product.adapters.push_back(
          {.down = weights_.matrix(std::vector{named_rows{.name = prefix + down + ".weight", .rows = rank}}, inputs),
           .up = weights_.matrix(std::vector{raised}, rank),
           .first = first});
      first += raised.rows;
    }
    return product;
  }

  /// The same in the stored numbers.
  projection project_as_stored(const std::vector<named_rows>& parts, std::int64_t inputs, bool bias) {
    return with_bias({weights_.matrix(named(parts, ".weight"), inputs)}, parts, bias, ".bias");
  }

  projection with_bias(projection product, const std::vector<named_rows>& parts, bool bias, const std::string& end) {
    if (bias) product.bias = weights_.vector(named(parts, end));
    return product;
  }

  static std::vector<named_rows> named(std::vector<named_rows> parts, const std::string& end) {
    for (auto& part : parts) part.name += end;
    return parts;
  }

  void read_bias(const models::head_spec& spec, projection& product) {
    if (spec.bias.empty() || (spec.bias_is_row && !weights_.has(spec.bias))) return;
    product.bias = spec.bias_is_row ? weights_.as_vector(own_rows(weights_.numbers(spec.bias, {1, config_.vocabulary})))
                                    : weights_.vector(std::vector{of_vocabulary(spec.bias)});
  }

  typename B::table table(const std::vector<std::string>& names, std::int64_t width) {
    const auto name = weights_.first_of(names);
    for (const auto& [known, kept] : tables_)
      if (known == name) return kept;
    return tables_.emplace_back(name, weights_.table(of_vocabulary(name), width)).second;
  }

  /// Rows for the tokens of the vocabulary, or of the shard of it.
  named_rows of_vocabulary(const std::string& name) const {
    if (!vocabulary_) return {.name = name, .rows = config_.vocabulary};
    return {.name = name,
            .rows = vocabulary_.count,
            .stored = vocabulary_.total,
            .runs = {{vocabulary_.first, vocabulary_.count}}};
  }

  std::vector<float> own_rows(std::vector<float> rows) const {
    if (!vocabulary_) return rows;
    const auto first = rows.begin() + vocabulary_.first;
    return {first, first + vocabulary_.count};
  }

  typename B::positions positions(const models::position_table_spec& spec) {
    if (spec.sinusoid_steps > 0 && !weights_.has(spec.name + ".weight"))
      return weights_.as_vector(
          weights::sinusoids(spec.offset, config_.max_positions, config_.hidden, spec.sinusoid_steps));
    auto values = weights_.numbers(spec.name + ".weight", {spec.offset + config_.max_positions, config_.hidden});
    values.erase(values.begin(), values.begin() + spec.offset * config_.hidden);
    return weights_.as_vector(spec.types.empty() ? std::move(values) : with_types(spec, values));
  }

  /// The table of the first type, then that of the second.
  std::vector<float> with_types(const models::position_table_spec& spec, const std::vector<float>& positions) {
    const auto types = weights_.numbers(spec.types + ".weight", {spec.type_count, config_.hidden});
    const auto width = static_cast<std::size_t>(config_.hidden);
    std::vector<float> sums;
    for (std::size_t type = 0; type < 2 && type < static_cast<std::size_t>(spec.type_count); ++type)
      for (std::size_t i = 0; i < positions.size(); ++i) sums.push_back(positions[i] + types[type * width + i % width]);
    return sums;
  }

  typename B::rotation rotation(const std::optional<models::rope_spec>& spec) {
    if (!spec) return {};
    for (const auto& [config, cached] : rotations_)
      if (config == spec->config) return cached;
    return rotations_.emplace_back(spec->config, weights_.rotation(spec->config, config_.max_positions)).second;
  }

  template <class Part, class... Known>
  static constexpr bool is_among(const std::variant<Known...>*) {
    return (std::is_same_v<Part, Known> || ...);
  }
  template <class Part>
  static constexpr bool can_run = is_among<Part>(static_cast<const part*>(nullptr));

  [[noreturn]] static void refuse(const char* feature) {
    throw std::invalid_argument(fmt::format("the model's device does not run {} yet", feature));
  }

  const load::model_config& config_;
  const models::shard vocabulary_;
  Weights& weights_;
  std::vector<std::pair<std::string, typename B::table>> tables_;
  std::vector<std::pair<load::rope_config, typename B::rotation>> rotations_;
  std::map<std::vector<named_rows>, projection> projections_;
};

}  // namespace cogen::nn
