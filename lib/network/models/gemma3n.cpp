#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/gemma3_fields.hpp"
#include "network/models/kv_sharing.hpp"
#include "network/models/layer_inputs.hpp"
#include "network/models/like_llama.hpp"

#include <boost/math/distributions/normal.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::models {
namespace {

constexpr load::family_fields gemma3n_fields(std::string_view name, std::string_view architecture) {
  return {.family = name,
          .sizes = {.vocabulary = 262400, .hidden = 2048, .layers = 35, .heads = 8, .intermediate = 16384},
          .tokens = {.bos = 2, .pad = 0, .eos = 1},
          .gguf = {.architecture = architecture},
          .keys = {.activation = "hidden_activation"},
          .kv_heads = 2,
          .head_dim = 256,
          .max_positions = 32768,
          .sliding_window = 512,
          .rope_theta = 1e6,
          .activation = "gelu_pytorch_tanh",
          .tie_embeddings = true};
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The number of a layer, in a list or for all.
template <class Number>
std::optional<Number> of_layer(const std::vector<Number>& values, std::int64_t layer) {
  if (values.size() == 1) return values.front();
  const auto index = static_cast<std::size_t>(layer);
  return index < values.size() ? std::optional(values[index]) : std::nullopt;
}

class gemma3n_layers {
 public:
  gemma3n_layers(const load::config_fields& fields, const load::model_config& config)
      : fields_(fields),
        config_(config),
        own_(read_gemma3_fields(fields, config, 5)),
        first_shared_(config.layers - fields.integer("num_kv_shared_layers", {0, config.layers - 1}, 15)),
        shared_(shared_kv_layers(fields, own_.slides, first_shared_)),
        streams_(fields.integer("altup_num_inputs", {2, 64}, 4)),
        active_(fields.integer("altup_active_idx", {0, streams_ - 1}, 0)) {}

  double logit_cap() const { return fields_.has("final_logit_softcapping") ? own_.logit_cap : 30; }
  std::int64_t streams() const { return streams_; }
  std::int64_t input_width() const { return fields_.integer("hidden_size_per_layer_input", load::hidden_widths, 256); }

  void add_to(model_spec& spec, std::int64_t layer) const {
    spec.blocks.push_back(stream_step(layer, false));
    add_sandwich(spec, config_, layer, attends(layer), feed_forward(layer), {});
    add_low_rank(spec, layer);
    spec.blocks.push_back(stream_step(layer, true));
    auto input = layer_input(config_, layer, input_width());
    std::get<layer_input_spec>(input.part).to_streams = true;
    spec.blocks.push_back(std::move(input));
    if (layer >= first_shared_) leave_kv_unread(spec, layer);
    if (!scales_corrected()) spec.unread.push_back(layer_prefix(layer) + "altup.correct_output_scale");
  }

 private:
  attention_spec attends(std::int64_t layer) const {
    const auto index = static_cast<std::size_t>(layer);
    auto self_attn = attention(config_);
    self_attn.scale = 1;
    self_attn.qk_norm = qk_norm_spec{.epsilon = config_.rms_norm_eps, .values = true};
    self_attn.shared_kv = shared_[index];
    if (own_.slides[index]) {
      self_attn.kv = sliding(config_, *config_.sliding_window);
      self_attn.rope = rope_spec{own_.local};
    }
    return self_attn;
  }

  mlp_spec feed_forward(std::int64_t layer) const {
    auto mlp = gated_mlp(config_);
    mlp.intermediate =
        of_layer(fields_.integers("intermediate_size", load::inner_widths), layer).value_or(mlp.intermediate);
    mlp.gate_cutoff = gate_cutoff(layer);
    return mlp;
  }

  /// GGUF files have a number of deviations, others the share of the gate that they cut off where it is normal.
  std::optional<float> gate_cutoff(std::int64_t layer) const {
    const auto scale = of_layer(fields_.reals("activation_sparsity_scale", {-infinity, 1e6}), layer);
    if (scale) return std::isinf(*scale) ? std::nullopt : std::optional(static_cast<float>(*scale));
    const auto usual = config_.layers > 10 && layer < 10 ? 0.95 : 0.0;
    const auto share = of_layer(fields_.reals("activation_sparsity_pattern", {0, 1 - 1e-6}), layer).value_or(usual);
    if (share == 0) return std::nullopt;
    return static_cast<float>(boost::math::quantile(boost::math::normal(), share));
  }

  /// Beside the attention, and x is divided by the root of 2 once it has both results.
  void add_low_rank(model_spec& spec, std::int64_t layer) const {
    const auto prefix = layer_prefix(layer);
    auto& attends = spec.blocks[spec.blocks.size() - 2];
    attends.total_scale = static_cast<float>(1 / std::numbers::sqrt2);
    spec.blocks.insert(spec.blocks.end() - 1,
                       {.part = low_rank_spec{.rank = fields_.integer("laurel_rank", load::hidden_widths, 64),
                                              .norm = rms_norm(config_, prefix + "laurel.post_laurel_norm")},
                        .prefix = prefix + "laurel.",
                        .pre_norm = attends.pre_norm,
                        .parallel = true});
  }

  bool scales_corrected() const { return fields_.boolean("altup_correct_scale", true); }

  block_spec stream_step(std::int64_t layer, bool corrects) const {
    const auto prefix = layer_prefix(layer) + "altup.";
    stream_step_spec step{.corrects = corrects,
                          .streams = streams_,
                          .active = active_,
                          .norm = rms_norm(config_, prefix + "router_norm")};
    step.norm.weight_scale = 1 / static_cast<float>(config_.hidden);
    if (corrects) step.coefficients = "correction_coefs";
    if (corrects && scales_corrected()) step.scale = "correct_output_scale";
    return {.part = std::move(step), .prefix = prefix};
  }

  const load::config_fields& fields_;
  const load::model_config& config_;
  gemma3_fields own_;
  std::int64_t first_shared_;
  std::vector<std::optional<int>> shared_;
  std::int64_t streams_, active_;
};

model_spec describe_gemma3n_text(const load::config_fields& fields, const load::model_config& config) {
  const gemma3n_layers layers(fields, config);
  auto spec = decoder(config);
  spec.embedding.scale = std::sqrt(static_cast<double>(config.hidden));
  spec.head.softcap = static_cast<float>(layers.logit_cap());
  spec.layer_inputs = layer_inputs(fields, config, layers.input_width());
  spec.streams = streams_spec{.count = layers.streams()};
  for (std::int64_t layer = 0; layer < config.layers; ++layer) layers.add_to(spec, layer);
  return spec;
}

}  // namespace

/// Gemma Team: several streams of hidden states, low-rank residuals beside attention, inputs of layers, sparse
/// feed-forwards, and layers that share keys and values.
const family gemma3n_text{
    .title = "Gemma 3n (text)", .fields = gemma3n_fields("gemma3n_text", "gemma3n"), .describe = describe_gemma3n_text};

/// As checkpoints are published, with encoders of images and sounds, which are not read.
const family gemma3n{.title = "Gemma 3n",
                     .fields = gemma3n_fields("gemma3n", ""),
                     .describe = describe_beside_encoders<gemma3n_text, gemma_encoders>};

}  // namespace cogen::models
