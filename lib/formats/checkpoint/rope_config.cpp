#include "formats/checkpoint/rope_config.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/message.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace cogen::load {
namespace {

constexpr real_range frequency_factors{1e-6, 1e6};
constexpr real_range factors{1e-6, 1e6};
constexpr real_range rotary_shares{1e-6, 1};
constexpr real_range attention_factors{0, 1e6};

// Dynamic ones differ in texts beyond max_position_embeddings only, which no cache holds.
constexpr std::array<std::pair<std::string_view, rope_kind>, 8> kinds{{{"default", rope_kind::standard},
                                                                       {"dynamic", rope_kind::standard},
                                                                       {"linear", rope_kind::linear},
                                                                       {"llama3", rope_kind::llama3},
                                                                       {"yarn", rope_kind::yarn},
                                                                       {"longrope", rope_kind::longrope},
                                                                       {"su", rope_kind::longrope},
                                                                       {"proportional", rope_kind::listed}}};

// Of 17 * (8 / 17), too, however its digits were read.
std::int64_t whole_part(double value) { return static_cast<std::int64_t>(std::floor(value + 1e-9)); }

// The fields of one object of config.json, "rope_scaling" say, and of the top level for what older writers put there.
class rope_reader {
 public:
  rope_reader(const config_fields& fields, std::string_view object, const model_config& shape,
              const rope_defaults& defaults)
      : fields_(fields), object_(object), shape_(shape), defaults_(defaults) {}

  rope_config read() {
    rope_config rope;
    const auto type = this->type();
    rope.kind = kind_of(type);
    rope.theta = fields_.real(own_or_top("rope_theta"), rope_thetas, defaults_.theta);
    if (has_original_positions()) rope.original_positions = original_positions();
    if (type != "default") read_magnitude(rope);
    if (rope.kind == rope_kind::listed) return read_proportional(rope);
    rope.rotary_dim = whole_part(static_cast<double>(shape_.head_dim) * rotated_share(type));
    if (rope.kind == rope_kind::linear) rope.factor = fields_.real(own("factor"), factors);
    if (rope.kind == rope_kind::llama3) read_llama3(rope);
    if (rope.kind == rope_kind::yarn) read_yarn(rope);
    if (rope.kind == rope_kind::longrope) read_longrope(rope);
    if (has_own("alpha")) raise_theta(rope);
    return rope;
  }

 private:
  std::string own(std::string_view key) const {
    return object_.empty() ? std::string(key) : object_ + "." + std::string(key);
  }
  bool has_own(std::string_view key) const { return fields_.has(own(key)); }
  std::string own_or_top(std::string_view key) const { return has_own(key) ? own(key) : std::string(key); }

  std::string type_key() const { return own(has_own("rope_type") ? "rope_type" : "type"); }

  std::string type() const { return object_.empty() ? "default" : fields_.string(type_key(), "default"); }

  rope_kind kind_of(std::string_view type) const {
    for (const auto& [known, kind] : kinds) {
      if (type == known) return kind;
    }
    fields_.refuse(type_key(),
                   "'default', 'linear', 'dynamic', 'llama3', 'yarn', 'longrope' and 'proportional' are known");
  }

  bool has_original_positions() const {
    return defaults_.original_positions != 0 || (!object_.empty() && has_own(length_key));
  }

  // Where Transformers has a default for the one at the top level, that one wins.
  std::int64_t original_positions() const {
    if (defaults_.original_positions != 0)
      return fields_.integer(length_key, position_counts, defaults_.original_positions);
    return fields_.integer(own(length_key), position_counts, shape_.max_positions);
  }

  double share(double fallback) const { return fields_.real(own_or_top(share_key), rotary_shares, fallback); }

  // Where heads rotate as a whole, Transformers does not read the share of plain rotations, and fails with others.
  double rotated_share(std::string_view type) const {
    if (defaults_.partial_factor) return share(*defaults_.partial_factor);
    if (type != "default" && share(1) != 1)
      fields_.refuse(own_or_top(share_key), "heads of this model rotate as a whole");
    return 1;
  }

  // What latent attention makes of it is the same for all types.
  void read_magnitude(rope_config& rope) const {
    rope.factor = fields_.real(own("factor"), factors, 1);
    rope.mscale_all_dim = optional_real("mscale_all_dim");
  }

  // Transformers takes a zero for "not given".
  std::optional<double> optional_real(std::string_view key) const {
    const auto value = fields_.real(own(key), attention_factors, 0);
    return value == 0 ? std::nullopt : std::optional(value);
  }

  void read_llama3(rope_config& rope) const {
    rope.factor = fields_.real(own("factor"), factors);
    rope.low_freq_factor = fields_.real(own("low_freq_factor"), factors);
    rope.high_freq_factor = fields_.real(own("high_freq_factor"), factors);
    rope.original_positions = original_positions();
    if (rope.high_freq_factor < rope.low_freq_factor) {
      fields_.refuse(own("high_freq_factor"),
                     fmt::format("it must not be below low_freq_factor = {}", rope.low_freq_factor));
    }
  }

  void read_yarn(rope_config& rope) const {
    rope.original_positions = original_positions();
    rope.factor =
        fields_.real(own("factor"), factors,
                     static_cast<double>(shape_.max_positions) / static_cast<double>(rope.original_positions));
    if (has_own("attention_factor")) rope.attention_factor = fields_.real(own("attention_factor"), attention_factors);
    rope.beta_fast = fields_.real(own("beta_fast"), factors, rope.beta_fast);
    rope.beta_slow = fields_.real(own("beta_slow"), factors, rope.beta_slow);
    rope.mscale = optional_real("mscale");
    rope.truncate = fields_.boolean(own("truncate"), true);
    if (rope.beta_fast < rope.beta_slow) {
      fields_.refuse(own("beta_fast"), fmt::format("it must not be below beta_slow = {}", rope.beta_slow));
    }
  }

  std::vector<float> factors_of(std::string_view key, std::int64_t pairs) const {
    const auto read = fields_.reals(own(key), frequency_factors);
    if (static_cast<std::int64_t>(read.size()) != pairs)
      fields_.refuse(own(key), fmt::format("it must have {} factors, one for each pair of rotated dimensions", pairs));
    return {read.begin(), read.end()};
  }

  void read_longrope(rope_config& rope) const {
    rope.original_positions = original_positions();
    rope.frequency_factors = factors_of("short_factor", rope.rotary_dim / 2);
    rope.long_factors = factors_of("long_factor", rope.rotary_dim / 2);
    rope.factor = fields_.real(
        own("factor"), factors,
        std::max(1.0, static_cast<double>(shape_.max_positions) / static_cast<double>(rope.original_positions)));
    if (has_own("attention_factor")) rope.attention_factor = fields_.real(own("attention_factor"), attention_factors);
    if (has_own("short_mscale")) read_mscales(rope);
  }

  // One of short texts and one of long ones.
  void read_mscales(rope_config& rope) const {
    rope.attention_factor = fields_.real(own("short_mscale"), attention_factors);
    rope.long_attention_factor = fields_.real(own("long_mscale"), attention_factors, *rope.attention_factor);
  }

  // Pairs of the whole head, of which those beyond the share stand still.
  rope_config read_proportional(rope_config rope) const {
    rope.rotary_dim = shape_.head_dim;
    const auto factor = static_cast<float>(fields_.real(own("factor"), factors, 1));
    const auto pairs = static_cast<std::size_t>(rope.rotary_dim / 2);
    rope.frequency_factors.assign(pairs, std::numeric_limits<float>::infinity());
    const auto turning = whole_part(static_cast<double>(rope.rotary_dim) * share(1) / 2);
    std::fill_n(rope.frequency_factors.begin(), turning, factor);
    return rope;
  }

  // theta * alpha^(d / (d - 2)), of HunYuan models.
  void raise_theta(rope_config& rope) const {
    const auto dim = static_cast<double>(shape_.head_dim);
    if (dim > 2) rope.theta *= std::pow(fields_.real(own("alpha"), factors), dim / (dim - 2));
  }

  static constexpr std::string_view length_key = "original_max_position_embeddings";
  static constexpr std::string_view share_key = "partial_rotary_factor";

  const config_fields& fields_;
  std::string object_;
  const model_config& shape_;
  rope_defaults defaults_;
};

// The object that says how positions are encoded, in today's spelling or the older one; models whose layers differ
// have one for each type of layer, and the one of full attention is the model's.
std::string_view rope_object(const config_fields& fields) {
  for (const std::string_view object : {"rope_scaling", "rope_parameters.full_attention", "rope_parameters"}) {
    if (fields.has(object)) return object;
  }
  return "";
}

double yarn_attention_factor(double factor) { return factor <= 1 ? 1 : 0.1 * std::log(factor) + 1; }

void read_gguf_yarn(const config_fields& fields, rope_config& rope) {
  const auto extrapolation = fields.real("rope.scaling.yarn_ext_factor", {-1, 1}, 1);
  if (extrapolation >= 0 && extrapolation < 1) fields.refuse("rope.scaling.yarn_ext_factor", "1 is read");
  rope.beta_fast = fields.real("rope.scaling.yarn_beta_fast", factors, rope.beta_fast);
  rope.beta_slow = fields.real("rope.scaling.yarn_beta_slow", factors, rope.beta_slow);
  if (fields.has("rope.scaling.yarn_attn_factor"))
    rope.attention_factor = fields.real("rope.scaling.yarn_attn_factor", attention_factors);
  const auto extra = fields.real("rope.scaling.attn_factor", attention_factors, 1);
  if (extra != 1) rope.attention_factor = extra * rope.attention_factor.value_or(yarn_attention_factor(rope.factor));
  if (!fields.has("rope.scaling.yarn_log_multiplier")) return;
  rope.mscale = 1;
  rope.mscale_all_dim = fields.real("rope.scaling.yarn_log_multiplier", attention_factors);
}

void read_gguf_longrope(const config_fields& fields, const model_config& shape, rope_config& rope) {
  rope.factor = std::max(1.0, static_cast<double>(shape.max_positions) / static_cast<double>(rope.original_positions));
  if (fields.has("rope.scaling.attn_factor"))
    rope.attention_factor = fields.real("rope.scaling.attn_factor", attention_factors);
}

rope_kind gguf_kind(const config_fields& fields) {
  const auto name = fields.string("rope.scaling.type", fields.has("rope.scale_linear") ? "linear" : "none");
  if (name == "none") return rope_kind::standard;
  if (name == "linear") return rope_kind::linear;
  if (name == "yarn") return rope_kind::yarn;
  if (name == "longrope") return rope_kind::longrope;
  fields.refuse("rope.scaling.type", "'none', 'linear', 'yarn' and 'longrope' are known");
}

}  // namespace

rope_config read_rope_config(const config_fields& fields, std::string_view object, const model_config& shape,
                             const rope_defaults& defaults) {
  return rope_reader(fields, object, shape, defaults).read();
}

rope_config read_rope_config(const config_fields& fields, const model_config& shape, const rope_defaults& defaults) {
  return read_rope_config(fields, rope_object(fields), shape, defaults);
}

rope_config read_gguf_rope_config(const config_fields& fields, const model_config& shape) {
  rope_config rope;
  rope.kind = gguf_kind(fields);
  rope.theta = fields.real("rope.freq_base", rope_thetas, rope.theta);
  rope.rotary_dim = fields.integer("rope.dimension_count", {2, shape.head_dim}, shape.head_dim);
  constexpr std::string_view length_key = "rope.scaling.original_context_length";
  if (fields.has(length_key)) rope.original_positions = fields.integer(length_key, position_counts);
  if (rope.kind == rope_kind::standard) return rope;
  const auto* key = fields.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  rope.factor = fields.real(key, factors, 1);
  if (rope.original_positions == 0) rope.original_positions = shape.max_positions;
  if (rope.kind == rope_kind::yarn) read_gguf_yarn(fields, rope);
  if (rope.kind == rope_kind::longrope) read_gguf_longrope(fields, shape, rope);
  return rope;
}

}  // namespace cogen::load
