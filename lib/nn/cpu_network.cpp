#include "nn/cpu_network.hpp"

#include "layers/embedding.hpp"
#include "layers/norm.hpp"
#include "layers/projection.hpp"
#include "layers/row_arithmetic.hpp"
#include "nn/block.hpp"
#include "nn/encoder_memory.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen::nn {

namespace {

using layers::activations;
using layers::forward_context;

/// The embedding of tokens and of their positions. Immutable.
struct input_embedding {
  layers::embedding tokens;
  std::int64_t width;                            // of the table
  std::optional<layers::projection> projection;  // to hidden states
  std::optional<layers::learned_positions> positions;
  std::optional<layers::norm> norm;

  void operator()(const forward_context& context, std::span<const token> ids, const activations& x) const {
    if (projection) {
      const layers::arena::scope scratch(context.space);
      const auto narrow = context.space.take(x.rows, width);
      tokens(context, ids, narrow);
      (*projection)(context, narrow, x);
    } else {
      tokens(context, ids, x);
    }
    if (positions) positions->add(context, x);
    if (norm) (*norm)(context, x, x);
  }
};

/// The last product, and what is done to logits. Immutable.
struct output_head {
  layers::head product;
  std::int64_t width;                            // of what it multiplies
  std::optional<layers::projection> projection;  // from hidden states
  std::vector<float> bias;                       // [vocabulary], or empty
  float scale;
  float softcap;

  void operator()(const forward_context& context, const activations& x, const activations& logits) const {
    if (projection) {
      const layers::arena::scope scratch(context.space);
      const auto narrow = context.space.take(x.rows, width);
      (*projection)(context, x, narrow);
      product(context, narrow, logits);
    } else {
      product(context, x, logits);
    }
    if (!bias.empty()) layers::add_bias(context, bias, logits);
    if (scale != 1) layers::scale_rows(context, scale, logits);
    if (softcap > 0) layers::cap(context, logits, softcap);
  }
};

/// Reads the parts of a network. Rotations and tables that several parts use are read once.
class part_reader {
 public:
  part_reader(const load::model_config& config, layers::weight_reader& weights) : config_(config), weights_(weights) {}

  input_embedding read(const models::embedding_spec& spec) {
    const auto width = spec.width == 0 ? config_.hidden : spec.width;
    input_embedding made{layers::embedding(table(spec.names, width), spec.scale), width, {}, {}, {}};
    if (!spec.projection.empty()) made.projection.emplace(project(spec.projection, config_.hidden, width));
    if (spec.positions)
      made.positions.emplace(weights_, spec.positions->name + ".weight", spec.positions->offset, config_.max_positions,
                             config_.hidden);
    if (spec.norm) made.norm.emplace(weights_, *spec.norm, config_.hidden);
    return made;
  }

  output_head read(const models::head_spec& spec, const models::embedding_spec& embedding) {
    const auto width = spec.width == 0 ? config_.hidden : spec.width;
    output_head made{layers::head(table(spec.names.empty() ? embedding.names : spec.names, width)),
                     width,
                     {},
                     read_bias(spec),
                     static_cast<float>(spec.scale),
                     spec.softcap};
    if (!spec.projection.empty()) made.projection.emplace(project(spec.projection, width, config_.hidden));
    return made;
  }

  std::optional<layers::norm> read(const std::optional<models::norm_spec>& spec) {
    if (!spec) return std::nullopt;
    return layers::norm(weights_, *spec, config_.hidden);
  }

  std::vector<block> read(const std::vector<models::block_spec>& specs, bool encoder) {
    std::vector<block> blocks;
    int layer = 0;
    for (const auto& spec : specs) {
      blocks.emplace_back(spec, read_part(spec, encoder), weights_, config_.hidden, layer);
      if (blocks.back().mixes_tokens() && !encoder) ++layer;
    }
    return blocks;
  }

 private:
  using matrix = std::shared_ptr<const kernels::tiled_matrix>;

  layers::projection project(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    return {weights_, "", {{name, outputs}}, inputs, false};
  }

  matrix table(const std::vector<std::string>& names, std::int64_t width) {
    const auto name = weights_.tensors().first_of(names);
    auto& kept = tables_[name];
    if (!kept) kept = weights_.matrix(std::vector{layers::named_rows{name, config_.vocabulary}}, width);
    return kept;
  }

  std::vector<float> read_bias(const models::head_spec& spec) {
    if (spec.bias.empty()) return {};
    if (!spec.bias_is_row) return weights_.vector(std::vector{layers::named_rows{spec.bias, config_.vocabulary}});
    return weights_.tensors().has(spec.bias) ? weights_.numbers(spec.bias, {1, config_.vocabulary})
                                             : std::vector<float>();
  }

  std::shared_ptr<const layers::rope> rotation(const std::optional<models::rope_spec>& spec) {
    if (!spec) return nullptr;
    for (const auto& [config, made] : rotations_)
      if (config == spec->config) return made;
    return rotations_.emplace_back(spec->config, std::make_shared<layers::rope>(spec->config, config_.max_positions))
        .second;
  }

  block::part read_part(const models::block_spec& spec, bool encoder) {
    const auto hidden = config_.hidden;
    const auto read = [&](const auto& what) -> block::part {
      using kind = std::decay_t<decltype(what)>;
      if constexpr (std::is_same_v<kind, models::attention_spec>) {
        if (what.kv.kind == cache::layer_kind::cross && !encoder)
          return layers::cross_attention(weights_, spec.prefix, what, hidden);
        return layers::attention(weights_, spec.prefix, what, hidden, rotation(what.rope));
      } else if constexpr (std::is_same_v<kind, models::mamba_spec>) {
        return layers::mamba_mixer(weights_, spec.prefix, what, hidden);
      } else if constexpr (std::is_same_v<kind, models::mlp_spec>) {
        return layers::mlp(weights_, spec.prefix, what, hidden);
      } else {
        return layers::mixture_of_experts(weights_, spec.prefix, what, hidden);
      }
    };
    return std::visit(read, spec.what);
  }

  const load::model_config& config_;
  layers::weight_reader& weights_;
  std::map<std::string, matrix> tables_;
  std::vector<std::pair<load::rope_config, std::shared_ptr<const layers::rope>>> rotations_;
};

/// Runs the blocks in order. A block whose successor is parallel keeps its result apart until that one has read x.
class residual_stream {
 public:
  residual_stream(const forward_context& context, const activations& x, bool has_parallel) : context_(context), x_(x) {
    if (has_parallel) apart_ = context.space.take(x.rows, x.columns);
  }

  void run(const block& next, const block* after) {
    const bool was_apart = std::exchange(is_apart_, after && after->parallel());
    if (is_apart_)
      next.branch(context_, x_, apart_);
    else
      next(context_, x_);
    if (was_apart) layers::add_rows(context_, apart_, 1, x_);
  }

  void keep(std::span<const int> outputs) {
    x_ = layers::keep(outputs, x_);
    if (is_apart_) apart_ = layers::keep(outputs, apart_);
  }

  const activations& x() const { return x_; }

 private:
  const forward_context& context_;
  activations x_;
  activations apart_;
  bool is_apart_ = false;
};

class cpu_network final : public network {
 public:
  cpu_network(const models::model_spec& spec, const load::model_config& config, layers::weight_reader& weights,
              part_reader read)
      : hidden_(config.hidden),
        encoder_embedding_(spec.encoder ? std::optional(read.read(spec.encoder->embedding)) : std::nullopt),
        encoder_(spec.encoder ? read.read(spec.encoder->blocks, true) : std::vector<block>()),
        embedding_(read.read(spec.embedding)),
        blocks_(read.read(spec.blocks, false)),
        norm_(read.read(spec.final_norm)),
        head_(read.read(spec.head, spec.embedding)),
        specs_(models::kv_cache_specs(spec)),
        encoder_specs_(spec.encoder ? models::kv_cache_specs({.blocks = spec.encoder->blocks})
                                    : std::vector<cache::kv_cache_spec>()),
        weight_type_(load::to_string(weights.most_common_type())) {
    const auto last = std::find_if(blocks_.rbegin(), blocks_.rend(), [](const block& b) { return b.mixes_tokens(); });
    mixing_end_ = static_cast<std::size_t>(blocks_.rend() - last);
    has_parallel_ = std::ranges::any_of(blocks_, &block::parallel);
  }

  void forward(const forward_context& context, std::span<const token> tokens, std::span<const int> outputs,
               const activations& logits) const override {
    const auto x = context.space.take(static_cast<std::int64_t>(tokens.size()), hidden_);
    embedding_(context, tokens, x);
    residual_stream stream(context, x, has_parallel_);
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      stream.run(blocks_[index], index + 1 < blocks_.size() ? &blocks_[index + 1] : nullptr);
      if (index + 1 == mixing_end_) stream.keep(outputs);
    }
    score(context, stream.x(), logits);
  }

  void encode(const forward_context& context, std::span<const token> tokens) const override {
    if (!has_encoder()) return network::encode(context, tokens);
    const auto x = context.space.take(static_cast<std::int64_t>(tokens.size()), hidden_);
    encoder_memory own(context, encoder_specs_.front());
    const forward_context inner{
        .run = context.run, .step = own.step, .memory = own.memory, .rows = own.rows, .space = context.space};
    (*encoder_embedding_)(inner, tokens, x);
    for (const auto& each : encoder_) each(inner, x);
    for (const auto& each : blocks_)
      if (each.is_cross()) each.remember(context, x);
  }

  bool has_encoder() const noexcept override { return encoder_embedding_.has_value(); }
  bool has_position_table() const noexcept override { return embedding_.positions.has_value(); }
  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }

  std::int64_t weight_bytes() const noexcept override {
    std::int64_t bytes = head_.product.bytes() + (norm_ ? norm_->bytes() : 0);
    for (const auto& each : blocks_) bytes += each.bytes();
    return bytes;
  }

  std::string_view weight_type() const noexcept override { return weight_type_; }

 private:
  void score(const forward_context& context, const activations& x, const activations& logits) const {
    if (!norm_) return head_(context, x, logits);
    const auto normed = context.space.take(x.rows, hidden_);
    (*norm_)(context, x, normed);
    head_(context, normed, logits);
  }

  std::int64_t hidden_;
  std::optional<input_embedding> encoder_embedding_;
  std::vector<block> encoder_;
  input_embedding embedding_;
  std::vector<block> blocks_;
  std::optional<layers::norm> norm_;
  output_head head_;
  std::vector<cache::kv_cache_spec> specs_;
  std::vector<cache::kv_cache_spec> encoder_specs_;
  std::string_view weight_type_;
  std::size_t mixing_end_ = 0;  // blocks up to here combine tokens; those behind it treat each row by itself
  bool has_parallel_ = false;
};

}  // namespace

std::unique_ptr<const network> make_cpu_network(const models::model_spec& spec, const load::model_config& config,
                                                layers::weight_reader& weights) {
  weights.tensors().expect(spec);
  return std::make_unique<const cpu_network>(spec, config, weights, part_reader(config, weights));
}

}  // namespace cogen::nn
