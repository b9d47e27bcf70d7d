// Configurations of published checkpoints describe models with as many parameters as Transformers builds from them.
#include "../test_data.hpp"
#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/families.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace cogen::test {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path folder() { return test_data() / "golden/configs"; }

/// "| NAME | checkpoint | 1,234 |" of the table in README.md.
std::map<std::string, std::int64_t> published_counts() {
  std::map<std::string, std::int64_t> counts;
  std::ifstream file(folder() / "README.md");
  for (std::string line; std::getline(file, line);) {
    const auto name_end = line.find(" |", 2);
    const auto last = line.rfind(" |");
    const auto count_begin = line.rfind("| ", last - 1);
    if (!line.starts_with("| ") || name_end == std::string::npos || count_begin == std::string::npos) continue;
    auto digits = line.substr(count_begin + 2, last - count_begin - 2);
    std::erase(digits, ',');
    if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) continue;
    counts[line.substr(2, name_end - 2)] = std::stoll(digits);
  }
  return counts;
}

class parameter_count {
 public:
  explicit parameter_count(const load::model_config& config) : config_(config) {}

  std::int64_t parameters_of(const models::model_spec& spec) const {
    const auto& [embedding, head] = std::pair(spec.embedding, spec.head);
    const auto width = embedding.width == 0 ? config_.hidden : embedding.width;
    std::int64_t count = config_.vocabulary * width + parameters_of(embedding) + parameters_of(spec.final_norm) +
                         parameters_of(spec.blocks);
    if (spec.streams) count += 2 * (spec.streams->count - 1) * config_.hidden * config_.hidden;
    if (const auto& inputs = spec.layer_inputs)
      count += inputs->layers * inputs->width * (inputs->vocabulary + config_.hidden) + inputs->width;
    if (!embedding.projection.empty()) count += width * config_.hidden;
    if (!head.projection.empty()) count += width * config_.hidden;
    if (!head.names.empty() && std::ranges::find(head.names, embedding.names.front()) == head.names.end())
      count += config_.vocabulary * width;
    if (!head.bias.empty() && !head.bias_is_row) count += config_.vocabulary;
    if (spec.encoder)
      count += parameters_of(spec.encoder->embedding) + parameters_of(spec.encoder->blocks) +
               parameters_of(spec.encoder->final_norm);
    return count;
  }

 private:
  std::int64_t parameters_of(const models::embedding_spec& embedding) const {
    const auto& positions = embedding.positions;
    const bool has_table = positions && positions->sinusoid_steps == 0;
    const auto types = positions ? positions->type_count * config_.hidden : 0;
    return parameters_of(embedding.norm) + types +
           (has_table ? (positions->offset + config_.max_positions) * config_.hidden : 0);
  }

  /// Those of distances, which all blocks share.
  static std::int64_t shared_biases(const models::block_spec& first) {
    const auto* attention = std::get_if<models::attention_spec>(&first.part);
    if (attention == nullptr || !attention->relative_bias) return 0;
    return attention->relative_bias->buckets * attention->heads;
  }

  std::int64_t parameters_of(const std::vector<models::block_spec>& blocks) const {
    std::int64_t count = shared_biases(blocks.front());
    std::set<std::string> named;  // several blocks may name the same norm or weights
    for (const auto& block : blocks) {
      count += std::visit(
          [&]<class Spec>(const Spec& spec) {
            if constexpr (requires { spec.adapters; })
              return adapters_of(spec) + (named.insert(block.prefix).second ? parameters_of(spec) : 0);
            else
              return parameters_of(spec);
          },
          block.part);
      if (block.pre_norm && named.insert(block.pre_norm->name).second) count += norm_before(block);
      count += parameters_of(block.after) + parameters_of(block.post) + parameters_of(block.shared_norm);
    }
    return count;
  }

  std::int64_t norm_before(const models::block_spec& block) const {
    const auto* attention = std::get_if<models::attention_spec>(&block.part);
    return parameters_of(block.pre_norm) * (attention != nullptr && attention->reads_embeddings ? 2 : 1);
  }

  std::int64_t adapters_of(const models::attention_spec& spec) const {
    if (spec.adapters.empty()) return 0;
    return spec.adapters.front().rank * (3 * spec.inputs(config_.hidden) + spec.q_width() + 2 * spec.kv_width());
  }

  std::int64_t adapters_of(const models::mlp_spec& spec) const {
    return spec.adapters.empty() ? 0 : spec.adapters.front().rank * (config_.hidden + 2 * spec.intermediate);
  }

  std::int64_t parameters_of(const std::optional<models::norm_spec>& norm) const {
    return norm ? config_.hidden * (norm->bias ? 2 : 1) : 0;
  }

  std::int64_t parameters_of(const models::attention_spec& spec) const {
    if (spec.shared_kv) return 2 * config_.hidden * spec.q_width() + spec.head_dim;
    const auto qkv = spec.q_width() + (spec.qkv.size() == 3 && spec.qkv[1] == spec.qkv[2] ? 1 : 2) * spec.kv_width();
    std::int64_t count = spec.inputs(config_.hidden) * qkv + config_.hidden * spec.q_width();
    if (spec.output_gate) count += config_.hidden * spec.q_width();
    if (spec.qkv_bias) count += qkv;
    if (!spec.sink_logits.empty()) count += spec.heads;
    if (spec.output_bias) count += config_.hidden;
    if (spec.qk_norm && !spec.qk_norm->q.empty())
      count += spec.qk_norm->over == models::qk_norm_spec::scope::head ? 2 * spec.head_dim
                                                                       : spec.q_width() + spec.kv_width();
    return count;
  }

  std::int64_t parameters_of(const models::latent_attention_spec& spec) const {
    const std::int64_t queries = std::int64_t{spec.heads} * spec.query_dim();
    const std::int64_t values = std::int64_t{spec.heads} * spec.value_dim;
    const auto q = spec.q_rank == 0 ? config_.hidden * queries : spec.q_rank * (config_.hidden + queries + 1);
    const auto expanded = std::int64_t{spec.heads} * spec.nope_dim + values;
    return q + config_.hidden * (spec.row_dim() + values) + spec.kv_rank * (expanded + 1);
  }

  std::int64_t parameters_of(const models::mlp_spec& spec) const {
    const auto up = spec.intermediate * (spec.gate.empty() ? 1 : 2);
    const std::int64_t own = spec.activation == kernels::activation::xielu ? 2 : 0;
    return config_.hidden * (up + spec.intermediate) + (spec.bias ? up + config_.hidden : 0) + own;
  }

  std::int64_t parameters_of(const models::mamba2_spec& spec) const {
    const auto rows = spec.values() + spec.channels() + spec.heads;
    const auto norm = spec.norm == models::mamba2_spec::norm_place::none ? 0 : spec.values();
    const auto biases = (spec.bias ? rows + config_.hidden : 0) + (spec.convolution_bias ? spec.channels() : 0);
    const auto matrices = config_.hidden * (rows + spec.values());
    return matrices + spec.channels() * spec.taps + 3 * spec.heads + norm + biases;
  }

  std::int64_t parameters_of(const models::delta_net_spec& spec) const {
    const auto rows = spec.channels() + 2 * spec.values() + 2 * spec.heads;
    return config_.hidden * rows + spec.channels() * spec.taps + 2 * spec.heads + spec.value_width;
  }

  std::int64_t parameters_of(const models::short_convolution_spec& spec) const {
    const auto biases = spec.bias ? 4 * spec.channels + config_.hidden : 0;
    return spec.channels * (4 * config_.hidden + spec.taps) + biases;
  }

  std::int64_t parameters_of(const models::mamba_spec&) const { return 0; }

  static std::int64_t parameters_of(const models::time_mix_spec& spec) {
    return 4 * spec.inputs * spec.channels + 2 * spec.channels + 3 * spec.inputs;
  }

  static std::int64_t parameters_of(const models::channel_mix_spec& spec) {
    return spec.inputs * (2 * spec.intermediate + spec.inputs + 2);
  }

  std::int64_t parameters_of(const models::linear_spec&) const { return config_.hidden * config_.hidden; }

  std::int64_t parameters_of(const models::layer_input_spec& spec) const { return 2 * config_.hidden * spec.width; }

  std::int64_t parameters_of(const models::low_rank_spec& spec) const { return config_.hidden * (2 * spec.rank + 1); }

  /// Both steps have the same router.
  std::int64_t parameters_of(const models::stream_step_spec& spec) const {
    const auto factors = spec.streams * spec.streams;
    return spec.corrects ? factors + config_.hidden : factors * spec.streams + config_.hidden * (spec.streams + 1);
  }

  std::int64_t parameters_of(const models::moe_spec& spec) const {
    auto count = spec.experts * (parameters_of(spec.expert) + config_.hidden + (spec.router.bias ? 1 : 0));
    count += parameters_of(spec.router.pre_norm) + (spec.router.share_scales.empty() ? 0 : spec.experts);
    if (spec.shared) count += parameters_of(spec.shared->mlp) + (spec.shared->gate.empty() ? 0 : config_.hidden);
    return count;
  }

  const load::model_config& config_;
};

/// Of layers whose letter is not a feed-forward's, where they have one; hybrid ones and RWKV's have two.
std::size_t mixing_blocks(const load::config_fields& fields, const load::model_config& config) {
  const auto letters =
      fields.string("hybrid_override_pattern", std::string(static_cast<std::size_t>(config.layers), 'M'));
  const auto mixing = std::ranges::count_if(letters, [](char letter) { return letter == 'M' || letter == '*'; });
  return static_cast<std::size_t>((config.family == "rwkv" ? 2 : 1) * mixing +
                                  std::ranges::count(fields.strings("layers_block_type"), "hybrid"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(published_configs)

BOOST_AUTO_TEST_CASE(each_describes_a_model_of_its_size) {
  const auto counts = published_counts();
  BOOST_TEST(counts.size() > 30U);
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    ++seen;
    const auto name = entry.path().stem().string();
    BOOST_TEST_CONTEXT(name) {
      const auto fields = load::config_fields::from_json(text_of(entry.path()), name);
      const auto config = load::read_model_config(fields);
      const auto spec = models::family_named(config.family)(fields, config);
      BOOST_REQUIRE(counts.contains(name));
      BOOST_TEST(parameter_count(config).parameters_of(spec) == counts.at(name));
      const auto shared = static_cast<std::size_t>(fields.integer("num_kv_shared_layers", {0, config.layers}, 0));
      const auto kept = mixing_blocks(fields, config) * (spec.encoder ? 2 : 1) - shared;
      BOOST_TEST(models::kv_cache_specs(spec).size() == kept + (spec.mtp ? 1 : 0));
    }
  }
  BOOST_TEST(seen == counts.size());
}

BOOST_AUTO_TEST_CASE(those_with_a_layer_for_multi_token_prediction_are_known) {
  std::set<std::string> predicting;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    const auto name = entry.path().stem().string();
    const auto fields = load::config_fields::from_json(text_of(entry.path()), name);
    const auto config = load::read_model_config(fields);
    if (models::family_named(config.family)(fields, config).mtp) predicting.insert(name);
  }
  const std::set<std::string> expected{"deepseek-v3", "glm-4.5-air", "qwen3-next-80b-a3b", "qwen3.5-27b",
                                       "qwen3.5-35b-a3b"};
  BOOST_TEST(predicting == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
