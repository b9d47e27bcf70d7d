// Loading: progress, ends asked for, and folders that do not hold what their configuration says.
#include "../load/memory_file.hpp"
#include "../load/refusal.hpp"
#include "../load/tiny_model.hpp"
#include "golden_copy.hpp"
#include "network/models/families.hpp"
#include "network/models/model_spec.hpp"
#include "some_models.hpp"

#include <cogen/load/checkpoint.hpp>
#include <cogen/load/model_config.hpp>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::test {
namespace {

/// A copy of a golden's model with an altered configuration.
class altered_model : public golden_copy {
 public:
  altered_model(const std::string& golden, const std::function<void(boost::json::object&)>& alter)
      : golden_copy(golden) {
    alter_config(alter);
  }
};

template <class Error>
void check_refused(const golden_copy& folder, const std::vector<std::string>& named) {
  BOOST_CHECK_EXCEPTION(load_model(folder.path()), Error, [&](const Error& error) {
    bool result = true;
    for (const auto& name : named) {
      const bool found = std::string(error.what()).find(name) != std::string::npos;
      BOOST_TEST(found, "\"" << error.what() << "\" does not name " << name);
      result = result && found;
    }
    return result;
  });
}

template <class Error>
void check_refused(const std::string& golden, const std::function<void(boost::json::object&)>& alter,
                   const std::vector<std::string>& named) {
  check_refused<Error>(altered_model(golden, alter), named);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loading)

BOOST_AUTO_TEST_CASE(progress_grows_to_the_whole) {
  std::vector<load_progress> seen;
  load_model(golden_folder("llama_linear"), {.progress =
                                                 [&](const load_progress& now) {
                                                   seen.push_back(now);
                                                   return true;
                                                 },
                                             .threads = 2});
  BOOST_REQUIRE(seen.size() > 10);
  BOOST_TEST(seen.front().done_bytes == 0);
  for (std::size_t i = 1; i < seen.size(); ++i) BOOST_TEST(seen[i].done_bytes > seen[i - 1].done_bytes);
  BOOST_TEST(seen.back().done_bytes == seen.back().total_bytes);
}

BOOST_AUTO_TEST_CASE(progress_can_end_it_at_every_tensor) {
  int last_call = 0;
  for (bool ended = true; ended; ++last_call) {
    int calls = 0;
    const auto end_at_last_call = [&](const load_progress&) { return calls++ < last_call; };
    try {
      load_model(golden_folder("llama_default"), {.progress = end_at_last_call, .threads = 1});
      ended = false;
    } catch (const load_aborted&) {
      BOOST_TEST(calls == last_call + 1);
    }
  }
  BOOST_TEST(last_call > 10);
}

BOOST_AUTO_TEST_CASE(fewer_than_one_thread_is_refused) {
  for (const int threads : {0, -1})
    BOOST_CHECK_EXCEPTION(load_model(golden_folder("llama_default"), {.threads = threads}), std::invalid_argument,
                          [&](const auto& error) {
                            return std::string(error.what()) ==
                                   "load_options.threads is " + std::to_string(threads) + "; it must be at least 1";
                          });
  BOOST_CHECK_THROW(workspace(std::optional<int>(0)), std::invalid_argument);
  BOOST_TEST(workspace().threads() >= 1);
}

BOOST_AUTO_TEST_CASE(what_progress_throws_comes_through) {
  const auto fail = [](const load_progress&) -> bool { throw std::range_error("mine"); };
  BOOST_CHECK_THROW(load_model(golden_folder("llama_default"), {.progress = fail}), std::range_error);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_while_it_is_read_is_named) {
  const altered_model folder("llama_default", [](auto&) {});
  const auto weights = folder.path() / "model.safetensors";
  const auto cut = [&](const load_progress& now) {
    if (now.done_bytes > 0) std::filesystem::resize_file(weights, std::filesystem::file_size(weights) / 2);
    return true;
  };
  BOOST_CHECK_EXCEPTION(load_model(folder.path(), {.progress = cut, .threads = 4}), load::load_error,
                        [&](const load::load_error& error) {
                          const std::string_view said = error.what();
                          return said.starts_with(weights.string()) && said.find("was cut short") != said.npos;
                        });
}

BOOST_AUTO_TEST_CASE(unknown_family_is_named_with_the_known_ones) {
  check_refused<std::invalid_argument>("llama_default", [](auto& config) { config["model_type"] = "quokka"; },
                                       {"quokka", "llama"});
}

BOOST_AUTO_TEST_CASE(missing_tensor) {
  check_refused<load::load_error>("llama_linear", [](auto& config) { config["num_hidden_layers"] = 4; },
                                  {"model.layers.3.self_attn.q_proj.weight"});
}

BOOST_AUTO_TEST_CASE(left_over_tensor) {
  check_refused<load::load_error>("llama_linear", [](auto& config) { config["num_hidden_layers"] = 2; },
                                  {"model.layers.2."});
  check_refused<load::load_error>("llama_linear", [](auto& config) { config["attention_bias"] = false; },
                                  {"_proj.bias"});
}

BOOST_AUTO_TEST_CASE(tensor_of_another_shape) {
  check_refused<load::load_error>("llama_linear", [](auto& config) { config["intermediate_size"] = 61; },
                                  {"gate_proj.weight", "61", "60"});
  check_refused<load::load_error>("llama_linear", [](auto& config) { config["vocab_size"] = 200; },
                                  {"embed_tokens.weight", "200", "157"});
}

BOOST_AUTO_TEST_CASE(state_space_models_that_their_configuration_does_not_fit) {
  check_refused<load::load_error>("mamba_tiny", [](auto& config) { config["state_size"] = 30; }, {"x_proj.weight"});
  check_refused<load::load_error>("mamba_tiny", [](auto& config) { config["conv_kernel"] = 9; },
                                  {"conv1d.weight", "9"});
  check_refused<load::load_error>("mamba_tiny", [](auto& config) { config["use_conv_bias"] = false; }, {"conv1d.bias"});
  check_refused<load::load_error>("jamba_tiny", [](auto& config) { config["num_experts"] = 9; },
                                  {"feed_forward.router.weight", "9"});
  check_refused<load::load_error>("jamba_tiny", [](auto& config) { config["attn_layer_offset"] = 0; },
                                  {"model.layers.0.self_attn"});
  for (const auto* golden : {"mamba_tiny", "jamba_tiny"}) {
    check_refused<load::load_error>(golden, [](auto& config) { config["hidden_act"] = "gelu"; },
                                    {"hidden_act", "gelu", "silu"});
  }
}

BOOST_AUTO_TEST_CASE(short_convolutions_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "lfm2_biased", [&](auto& config) { config[key] = value; }, named);
  };
  refused("conv_L_cache", 4, {"conv.conv.weight", "[20, 1, 5]", "[20, 1, 4]"});
  refused("conv_L_cache", 1, {"conv_L_cache is 1; an integer from 2"});
  refused("conv_bias", false, {"conv.conv.bias", "no part"});
  refused("block_auto_adjust_ff_dim", true, {"feed_forward.w1.weight", "[256, 20]"});
  refused("block_ff_dim", 2, {"block_ff_dim is 2; an integer from 3"});
  refused("layer_types", {"conv", "mamba", "conv"}, {"layer_types", "'full_attention' and 'conv' are known"});
  refused("layer_types", {"conv"}, {"layer_types", "it must name num_hidden_layers = 3 layers"});
  check_refused<load::load_error>("lfm2_published", [](auto& config) { config["full_attn_idxs"] = {4}; },
                                  {"full_attn_idxs is"});
  check_refused<load::load_error>("lfm2_published", [](auto& config) { config["full_attn_idxs"] = {2}; },
                                  {"model.layers.1.conv.in_proj.weight"});
}

BOOST_AUTO_TEST_CASE(delta_nets_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "qwen3_5_interval", [&](auto& config) { config[key] = value; }, named);
  };
  refused("linear_num_value_heads", 5,
          {"linear_num_value_heads is 5; it must be a multiple of linear_num_key_heads = 2"});
  refused("linear_num_value_heads", 4, {"in_proj_qkv.weight", "[62, 24]", "[48, 24]"});
  refused("linear_conv_kernel_dim", 3, {"conv1d.weight", "[62, 1, 4]", "[62, 1, 3]"});
  refused("linear_conv_kernel_dim", 1, {"linear_conv_kernel_dim is 1; an integer from 2"});
  refused("linear_key_head_dim", 0, {"linear_key_head_dim is 0; an integer from 1"});
  refused("num_attention_heads", 6, {"self_attn.q_proj.weight", "[96, 24]", "[192, 24]"});
  refused("layer_types", {"linear_attention", "conv", "conv", "conv"},
          {"layer_types", "'full_attention' and 'linear_attention' are known"});
  refused("hidden_act", "gelu", {"hidden_act", "gelu", "silu"});
}

BOOST_AUTO_TEST_CASE(mamba2_mixers_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "mamba2_published", [&](auto& config) { config[key] = value; }, named);
  };
  refused("n_groups", 3, {"n_groups is 3; num_heads = 4 must be a multiple of it"});
  refused("num_heads", 5, {"num_heads is 5; times head_dim = 13 it must be hidden_size * expand = 52"});
  refused("state_size", 6, {"in_proj.weight", "[128, 26]", "[132, 26]"});
  refused("conv_kernel", 1, {"conv_kernel is 1; an integer from 2"});
  refused("use_conv_bias", false, {"conv1d.bias", "no part"});
  refused("hidden_act", "gelu", {"hidden_act", "gelu", "silu"});
  refused("time_step_limit", {0.0, 0.1}, {"time_step_limit", "time steps without limits are read"});
}

BOOST_AUTO_TEST_CASE(rwkvs_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "rwkv_wide", [&](auto& config) { config[key] = value; }, named);
  };
  refused("attention_hidden_size", 22, {"attention.key.weight", "[35, 22]", "[22, 22]"});
  refused("attention_hidden_size", 0, {"attention_hidden_size is 0; an integer from 1"});
  refused("intermediate_size", nullptr, {"feed_forward.key.weight", "[51, 22]", "[88, 22]"});
  refused("rescale_every", 1.5, {"rescale_every is 1.5", "an integer from -1048576"});
  refused("num_hidden_layers", 1, {"rwkv.blocks.1.", "no part"});
}

BOOST_AUTO_TEST_CASE(bigcodes_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* golden, const char* key, const boost::json::value& value,
                          const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        golden, [&](auto& config) { config[key] = value; }, named);
  };
  refused("gpt_bigcode_published", "multi_query", false, {"attn.c_attn.weight", "[40, 24]", "[72, 24]"});
  refused("gpt_bigcode_heads", "multi_query", true, {"attn.c_attn.weight", "[63, 21]", "[35, 21]"});
  refused("gpt_bigcode_heads", "multi_query", 2, {"multi_query is 2; true or false"});
  refused("gpt_bigcode_heads", "n_head", 5, {"n_head is 5; n_embd = 21 must be a multiple of it"});
  refused("gpt_bigcode_heads", "n_inner", 80, {"mlp.c_fc.weight", "[84, 21]", "[80, 21]"});
}

BOOST_AUTO_TEST_CASE(hybrid_granites_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "granite4_published", [&](auto& config) { config[key] = value; }, named);
  };
  refused("num_local_experts", 4, {"num_experts_per_tok is 0; an integer from 1 to 4"});
  refused("mamba_n_groups", 3, {"mamba_n_groups is 3; mamba_n_heads = 4 must be a multiple of it"});
  refused("mamba_d_head", 11, {"mamba_n_heads is 4; times mamba_d_head = 11", "hidden_size * mamba_expand = 48"});
  refused("layer_types", {"mamba", "attention", "conv"},
          {"layer_types", "'full_attention' and 'linear_attention' are known"});
  refused("layer_types", {"mamba", "mamba", "mamba"}, {"model.layers.1.mamba.in_proj.weight"});
  refused("shared_intermediate_size", 21, {"shared_mlp.input_linear.weight", "[44, 24]", "[42, 24]"});
}

BOOST_AUTO_TEST_CASE(layers_of_one_part_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        std::string_view(key) == "hybrid_override_pattern" ? "nemotron_h_published" : "nemotron_h_moe",
        [&](auto& config) { config[key] = value; }, named);
  };
  refused("hybrid_override_pattern", "M-*X", {R"(hybrid_override_pattern is "M-*X"; 'M', '*', '-' and 'E' are known)"});
  refused("hybrid_override_pattern", "M-*", {"hybrid_override_pattern", "it must name 4 layers"});
  refused("hybrid_override_pattern", "M-M-", {"backbone.layers.2.mixer.in_proj.weight"});
  refused("layers_block_type", {"moe", "mamba", "conv", "mlp"}, {"layers_block_type", "'linear_attention'"});
  refused("moe_latent_size", 8, {"mixer.fc1_latent_proj.weight"});
  refused("n_groups", 2, {"n_groups is 2; mamba_num_heads = 3 must be a multiple of it"});
  refused("mamba_head_dim", 11, {"mixer.in_proj.weight"});
  refused("mamba_hidden_act", "gelu", {"mamba_hidden_act is \"gelu\"; a Nemotron-H's is silu"});
}

BOOST_AUTO_TEST_CASE(falcons_of_both_mixers_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "falcon_h1_scaled", [&](auto& config) { config[key] = value; }, named);
  };
  refused("mamba_d_ssm", 24, {"mamba_n_heads is 4; times mamba_d_head = 5 it must be mamba_d_ssm = 24"});
  refused("ssm_multipliers", {1, 2}, {"ssm_multipliers is [1,2]; 5 numbers are read"});
  refused("mlp_multipliers", {1, 2, 3}, {"mlp_multipliers is [1,2,3]; 2 numbers are read"});
  refused("attention_bias", true, {"attention_bias is true; it is read without attention_in_multiplier"});
  refused("mamba_proj_bias", true, {"mamba_proj_bias is true; it is read without ssm_in_multiplier"});
  refused("projectors_bias", true, {"projectors_bias is true; it must be mamba_proj_bias"});
  refused("mamba_rms_norm", true, {"mamba.norm.weight"});
}

BOOST_AUTO_TEST_CASE(llama_4_with_lists_that_do_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "llama4_text_listed", [&](auto& config) { config[key] = value; }, named);
  };
  refused("no_rope_layers", {0, 1}, {"no_rope_layers is [0,1]; it must have a 0 or 1 for each layer"});
  refused("layer_types", {"chunked_attention", "sliding_attention", "full_attention"},
          {"'chunked_attention' and 'full_attention' are known"});
  refused("moe_layers", {3}, {"moe_layers is"});
  refused("moe_layers", {1}, {"layers.0.feed_forward.gate_proj.weight", "is missing"});
  refused("moe_layers", boost::json::array(), {"layers.0.feed_forward.gate_proj.weight", "is missing"});
}

BOOST_AUTO_TEST_CASE(a_zamba2_that_its_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "zamba2_published", [&](auto& config) { config[key] = value; }, named);
  };
  refused("attention_head_dim", 8,
          {"attention_head_dim is 8; times num_attention_heads = 3 it must be 2 * hidden_size = 48"});
  refused("num_key_value_heads", 1, {"num_key_value_heads is 1; with use_shared_attention_adapter it must be"});
  refused("layers_block_type", {"mamba", "hybrid", "attention", "hybrid"},
          {"'hybrid', 'linear_attention' and 'mamba' are known"});
  refused("layers_block_type", {"mamba", "hybrid", "hybrid"}, {"it must name num_hidden_layers = 4 layers"});
  refused("layers_block_type", {"mamba", "mamba", "hybrid", "hybrid"}, {"model.layers.1.mamba.in_proj.weight"});
  refused("num_mem_blocks", 3, {"model.layers.3.shared_transformer.self_attn.q_proj.weight", "is missing"});
  refused("adapter_rank", 4, {"linear_q_adapter_list.0.0.weight", "[3, 48]", "[4, 48]"});
  refused("use_long_context", true, {"use_long_context", "contexts that are not extended are read"});
  refused("mamba_ngroups", 3, {"mamba_ngroups is 3; n_mamba_heads = 4 must be a multiple of it"});
}

BOOST_AUTO_TEST_CASE(a_zamba2_whose_blocks_are_not_shared_is_refused) {
  const load::checkpoint files(golden_folder("zamba2_published"));
  auto config = files.config();
  config.tie_embeddings = false;
  BOOST_CHECK_THROW(models::family_named("zamba2")(files.fields(), config), load::load_error);
}

BOOST_AUTO_TEST_CASE(a_gemma4_that_its_configuration_does_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "gemma4_e_far", [&](auto& config) { config[key] = value; }, named);
  };
  refused("num_kv_shared_layers", 6, {"num_kv_shared_layers is 6"});
  refused("num_kv_shared_layers", 5, {"num_kv_shared_layers is 5; a type of layers has no keys and values to share"});
  refused("num_kv_shared_layers", 2, {"model.layers.3.self_attn.k_proj.weight"});
  refused("hidden_size_per_layer_input", 7, {"embed_tokens_per_layer.weight", "42", "36"});
  refused("attention_k_eq_v", false, {"self_attn.v_proj.weight", "[10, 24]"});
  refused("use_bidirectional_attention", "all", {"only causal models are read"});
}

BOOST_AUTO_TEST_CASE(experts_that_their_configuration_does_not_fit) {
  const auto refused = [](const char* golden, const char* key, const boost::json::value& value,
                          const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        golden, [&](auto& config) { config[key] = value; }, named);
  };
  refused("qwen3_moe_published", "num_experts_per_tok", 6, {"num_experts_per_tok is 6; an integer from 1 to 5"});
  refused("qwen3_moe_published", "num_experts_per_tok", 0, {"num_experts_per_tok is 0"});
  refused("qwen3_moe_published", "num_experts", 6, {"model.layers.0.mlp.gate.weight", "5", "6"});
  refused("qwen3_moe_mixed", "mlp_only_layers", boost::json::array{1}, {"model.layers.1.mlp.gate_proj.weight"});
  refused("qwen3_moe_mixed", "mlp_only_layers", boost::json::array{4}, {"mlp_only_layers", "4"});
  refused("qwen2_moe_published", "shared_expert_intermediate_size", 18, {"mlp.shared_expert.", "17", "18"});
  refused("granitemoe_published", "num_local_experts", 7, {"block_sparse_moe.router.layer.weight", "6", "7"});
  refused("granitemoe_published", "intermediate_size", 14, {"block_sparse_moe.input_linear.weight", "26", "28"});
  refused("mixtral_published", "num_local_experts", 0, {"num_local_experts is 0"});
  refused("dots1_published", "n_routed_experts", 7, {"mlp.gate.weight", "6", "7"});
  refused("dots1_published", "first_k_dense_replace", 0, {"model.layers.0.mlp.gate.weight"});
  refused("dots1_published", "n_shared_experts", 1, {"mlp.shared_experts.", "18", "9"});
  refused("gpt_oss_published", "num_local_experts", 6, {"mlp.router.weight", "5", "6"});
  refused("gpt_oss_published", "intermediate_size", 15, {"mlp.experts.gate_up_proj", "[5, 24, 28]", "[5, 24, 30]"});
  refused("gpt_oss_published", "attention_bias", false, {"self_attn.k_proj.bias"});
  refused("gpt_oss_mxfp4", "num_local_experts", 9, {"mlp.router.weight", "8", "9"});
  refused("gpt_oss_mxfp4", "intermediate_size", 96, {"mlp.experts.gate_up_proj", "[8, 128, 32]", "[8, 192, 32]"});
  refused("gpt_oss_mxfp4", "quantization_config", nullptr,
          {"mlp.experts.gate_up_proj.weight'", "[8, 32, 128]", "is missing"});
  check_refused<load::load_error>("gemma4_moe_published",
                                  [](auto& config) { config["text_config"].as_object()["num_experts"] = 6; },
                                  {"router.proj.weight", "5", "6"});
  refused("glm4_moe_published", "num_hidden_layers", 3, {"model.layers.2.self_attn"});
}

BOOST_AUTO_TEST_CASE(an_expert_that_is_missing_or_misshapen_is_named) {
  const auto refused = [](const char* golden, const char* text, const char* replacement,
                          const std::vector<std::string>& named) {
    const golden_copy folder(golden);
    folder.change_header(text, replacement);
    check_refused<load::load_error>(folder, named);
  };
  refused("mixtral_published", "experts.2.w1.weight", "experts.9.w1.weight",
          {"tensor 'model.layers.0.block_sparse_moe.experts.2.w1.weight' of shape [13, 30] is missing"});
  refused("jamba_tiny", "experts.3.down_proj.weight", "experts.4.down_proj.weight",
          {"tensor 'model.layers.1.feed_forward.experts.3.down_proj.weight' of shape [30, 14] is missing"});
  refused("mixtral_published", R"(experts.0.w1.weight":{"dtype":"BF16","shape":[13,30])",
          R"(experts.0.w1.weight":{"dtype":"BF16","shape":[30,13])",
          {"tensor 'model.layers.0.block_sparse_moe.experts.0.w1.weight' has shape [30, 13]", "[13, 30]"});
  refused("gpt_oss_published", R"(experts.down_proj":{"dtype":"BF16","shape":[5,14,24])",
          R"(experts.down_proj":{"dtype":"BF16","shape":[4,14,30])", {"model.layers.0.mlp.experts.down_proj"});
}

BOOST_AUTO_TEST_CASE(experts_that_a_gguf_file_lacks_are_named) {
  const auto refused = [](const std::map<std::string, std::vector<std::uint64_t>>& experts) {
    gguf_draft draft;
    draft.entries = tiny_llama_entries();
    draft.entries.push_back(entry_u32("llama.expert_count", 4));
    draft.entries.push_back(entry_u32("llama.expert_used_count", 2));
    std::map<std::string, std::vector<std::uint64_t>> tensors{
        {"token_embd", {8, 3}},        {"output_norm", {8}},     {"blk.0.attn_norm", {8}},
        {"blk.0.attn_q", {8, 8}},      {"blk.0.attn_k", {8, 4}}, {"blk.0.attn_v", {8, 4}},
        {"blk.0.attn_output", {8, 8}}, {"blk.0.ffn_norm", {8}},  {"blk.0.ffn_gate_inp", {8, 4}}};
    tensors.insert(experts.begin(), experts.end());
    for (const auto& [name, dimensions] : tensors) {
      const auto count = std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies<>());
      draft.add(name + ".weight", dimensions, 0, counting_floats(count));
    }
    const memory_file written(draft.bytes());
    return refusal([&] { load_model(written.path()); });
  };
  const std::vector<std::uint64_t> in{8, 12, 4}, out{12, 8, 4}, fewer{12, 8, 3};
  const auto *const gate = "blk.0.ffn_gate_exps", *const up = "blk.0.ffn_up_exps", *const down = "blk.0.ffn_down_exps";
  BOOST_TEST(refused({{gate, in}, {up, in}, {down, out}}) == "nothing was refused");
  BOOST_TEST(says(refused({{gate, in}, {down, out}}), "'blk.0.ffn_up_exps.weight' of shape [4, 12, 8] is missing"));
  BOOST_TEST(says(refused({{gate, in}, {up, in}, {down, fewer}}),
                  "'blk.0.ffn_down_exps.weight' has shape [3, 8, 12]; the configuration makes it [4, 8, 12]"));
}

BOOST_AUTO_TEST_CASE(latent_attention_that_its_configuration_does_not_fit) {
  const auto refused = [](const char* golden, const char* key, const boost::json::value& value,
                          const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        golden, [&](auto& config) { config[key] = value; }, named);
  };
  refused("deepseek_v3_published", "kv_lora_rank", 13, {"self_attn.kv_a_proj_with_mqa.weight", "20", "21"});
  refused("deepseek_v3_published", "qk_rope_head_dim", 6, {"self_attn.kv_a_proj_with_mqa.weight", "20", "18"});
  refused("deepseek_v3_published", "qk_rope_head_dim", 7,
          {"qk_rope_head_dim is 7; 7 dimensions of a head would be rotated"});
  refused("deepseek_v3_published", "qk_nope_head_dim", 7, {"self_attn.q_b_proj.weight", "42", "45"});
  refused("deepseek_v3_published", "v_head_dim", 9, {"self_attn.o_proj.weight", "30", "27"});
  refused("deepseek_v3_published", "q_lora_rank", nullptr, {"self_attn.q_proj.weight"});
  refused("deepseek_v3_published", "q_lora_rank", 0, {"q_lora_rank is 0"});
  refused("deepseek_v3_biased", "attention_bias", false, {"self_attn.", ".bias"});
  refused("deepseek_v2_published", "topk_method", "noaux_tc", {"topk_method is \"noaux_tc\"; 'greedy' and"});
  refused("deepseek_v2_published", "num_experts_per_tok", nullptr, {"num_experts_per_tok"});
  refused("glm4_moe_lite_tiny", "mlp_layer_types", {"sparse", "dense"}, {"layers.0.mlp.gate.weight"});
  refused("glm4_moe_lite_tiny", "mlp_layer_types", {"dense", "x"}, {"mlp_layer_types", "'dense' and 'sparse' are"});
  refused("glm4_moe_lite_tiny", "mlp_layer_types", {"dense"}, {"mlp_layer_types", "must name all layers"});
  refused("mistral4_grown", "qk_rope_head_dim", 4, {"qk_rope_head_dim is 4; 6 dimensions are rotated"});
}

BOOST_AUTO_TEST_CASE(rotations_of_no_pairs) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "mistral_published", [&](auto& config) { config[key] = value; }, named);
  };
  refused("head_dim", 7, {"head_dim is 7; 7 dimensions of a head would be rotated; an even number from 2 is allowed"});
  check_refused<load::load_error>("phi3_published", [](auto& config) { config["partial_rotary_factor"] = 0.01; },
                                  {"0 dimensions of a head would be rotated"});
  check_refused<load::load_error>("gpt_neox_published", [](auto& config) { config["rotary_pct"] = 0.01; },
                                  {"hidden_size is", "0 dimensions of a head would be rotated"});
}

BOOST_AUTO_TEST_CASE(gemmas_that_attend_to_later_tokens_are_refused) {
  for (const auto* golden : {"gemma_published", "gemma2_published"})
    check_refused<load::load_error>(golden, [](auto& config) { config["use_bidirectional_attention"] = true; },
                                    {"use_bidirectional_attention is true; only causal models are read"});
}

/// The windows of a golden's layers, 0 for none, with some keys replaced, or left out where they are null.
std::vector<int> windows(const std::string& golden, const boost::json::object& keys) {
  const altered_model folder(golden, [&](auto& config) {
    for (const auto& [key, value] : keys)
      if (value.is_null())
        config.erase(key);
      else
        config[key] = value;
  });
  std::vector<int> found;
  const auto model = load_model(folder.path());
  for (const auto& kv : model->kv_cache_specs()) found.push_back(kv.window);
  return found;
}

// modeling_qwen2_moe.py and modeling_qwen3_moe.py of Transformers 5.24.
BOOST_AUTO_TEST_CASE(windows_of_qwens_with_experts) {
  using list = std::vector<int>;
  BOOST_TEST(windows("qwen2_moe_mixed", {}) == (list{7, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST(windows("qwen2_moe_mixed", {{"layer_types", nullptr}}) == (list{7, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(windows("qwen2_moe_mixed", {{"layer_types", nullptr}, {"max_window_layers", 28}}) == (list{7, 0, 7}),
             boost::test_tools::per_element());
  BOOST_TEST(windows("qwen2_moe_mixed", {{"layer_types", nullptr}, {"use_sliding_window", false}}) == (list{0, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(windows("qwen2_moe_published", {{"sliding_window", 0}}) == (list{0, 0}), boost::test_tools::per_element());
  BOOST_TEST(windows("qwen3_moe_window", {}) == (list{7, 7}), boost::test_tools::per_element());
  BOOST_TEST(windows("qwen3_moe_window", {{"use_sliding_window", false}}) == (list{0, 0}),
             boost::test_tools::per_element());
}

// The text of some tokens is not known, but they may be sampled.
BOOST_AUTO_TEST_CASE(an_end_token_behind_the_tokenizer_s) {
  const altered_model folder("llama_default", [](auto& config) { config["eos_token_id"] = {2, 50, 500}; });
  std::ofstream(folder.path() / "tokenizer.json") << R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}, "post_processor": null,
      "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}})";
  const auto model = load_model(folder.path());
  BOOST_TEST((model->config().eos == std::vector<token>{2, 50}));
  const auto ends = model->tokenizer().eos();
  BOOST_TEST((std::vector<token>(ends.begin(), ends.end()) == std::vector<token>{2, 50}));
}

BOOST_AUTO_TEST_CASE(groups_of_experts_that_do_not_fit) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "glm4_moe_grouped", [&](auto& config) { config[key] = value; }, named);
  };
  refused("n_group", 5, {"n_group is 5; 12 experts must be a multiple of it"});
  refused("topk_group", 5, {"topk_group is 5; an integer from 1 to 4"});
  refused("num_experts_per_tok", 7, {"topk_group is 2; these groups have 6 experts, and 7 are chosen"});
}

BOOST_AUTO_TEST_CASE(no_such_file) { BOOST_CHECK_THROW(load_model("/nowhere/at/all.gguf"), load::load_error); }

BOOST_AUTO_TEST_CASE(without_a_tokenizer_it_takes_ids) {
  const auto model = tiny_model();
  BOOST_TEST(!model->has_tokenizer());
  BOOST_TEST(model->chat() == nullptr);
  BOOST_CHECK_THROW(model->tokenizer(), std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_chat_template_that_is_not_understood_leaves_the_rest_usable) {
  const altered_model folder("llama_default", [](auto&) {});
  std::ofstream(folder.path() / "tokenizer.json") << R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}, "post_processor": null,
      "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}})";
  std::ofstream(folder.path() / "tokenizer_config.json") << R"({"chat_template": "{% frobnicate %}"})";
  const auto model = load_model(folder.path());
  BOOST_TEST((model->tokenizer().encode("ab") == std::vector<token>{0, 1}));
  BOOST_TEST(model->chat() == nullptr);
  BOOST_TEST(model->chat_error().find("frobnicate") != std::string::npos, model->chat_error());
}

BOOST_AUTO_TEST_CASE(rows_that_no_token_has_are_tokens_without_text) {
  for (const auto* vocabulary : {R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []})",
                                 R"({"type": "Unigram", "vocab": [["a", -1], ["b", -2]], "unk_id": 0})"}) {
    const golden_copy folder("llama_default");
    std::ofstream(folder.path() / "tokenizer.json") << fmt::format(R"({{"model": {}}})", vocabulary);
    const auto model = load_model(folder.path());
    const auto& tokens = model->tokenizer();
    const auto last = static_cast<token>(model->config().vocabulary - 1);
    BOOST_TEST(static_cast<token>(tokens.size()) == last + 1);
    BOOST_TEST(tokens.token_bytes(last) == "");
    BOOST_TEST(tokens.token_text(2) == "");
    text::detokenizer pieces(tokens);
    BOOST_TEST(pieces.push(last) == "");
    BOOST_TEST(pieces.push(1) == tokens.decode(std::vector<token>{1}));
    BOOST_TEST(tokens.decode(std::vector<token>{2, 0, last, 1}) == tokens.decode(std::vector<token>{0, 1}));
    BOOST_CHECK_THROW(tokens.decode(std::vector<token>{last + 1}), std::out_of_range);
    BOOST_TEST(tokens.encode("ab") == (std::vector<token>{0, 1}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_chat_template_is_replaced) {
  const auto model =
      load_model(default_model_file(), {.chat_template = "{% for m in messages %}<{{ m.content }}>{% endfor %}"});
  const std::vector<text::chat_message> messages{{.role = "user", .content = "Hi"}, {.role = "user", .content = "Ho"}};
  BOOST_REQUIRE(model->chat() != nullptr);
  BOOST_TEST(model->chat()->render(messages) == "<Hi><Ho>");
  BOOST_TEST(model->tokenizer().encode("Hi") == default_model()->tokenizer().encode("Hi"));
  const auto malformed = load_model(default_model_file(), {.chat_template = "{% frobnicate %}"});
  BOOST_TEST(malformed->chat() == nullptr);
  BOOST_TEST(malformed->chat_error().find("frobnicate") != std::string::npos, malformed->chat_error());
}

BOOST_AUTO_TEST_CASE(the_default_model_brings_its_text) {
  const auto model = default_model();
  BOOST_REQUIRE(model->has_tokenizer());
  BOOST_TEST(static_cast<std::int64_t>(model->tokenizer().size()) == model->config().vocabulary);
  BOOST_TEST(model->tokenizer().decode(model->tokenizer().encode("Hello, world")) == "Hello, world");
  BOOST_REQUIRE(model->chat() != nullptr);
  const std::vector<text::chat_message> messages{{.role = "user", .content = "Hi"}};
  BOOST_TEST(model->chat()->render(messages).find("<|im_start|>user\nHi<|im_end|>") != std::string::npos);
  BOOST_TEST(model->kv_cache_specs().size() == 30U);
  BOOST_TEST(model->weight_type() == "q4_1");
  BOOST_TEST(model->weight_bytes() > 80'000'000);
  BOOST_TEST(model->weight_bytes() < 120'000'000);
}

BOOST_AUTO_TEST_CASE(a_mistral_that_says_otherwise_is_refused) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "mistral_window", [&](auto& config) { config[key] = value; }, named);
  };
  refused("num_key_value_heads", 1, {"k_proj", "shape"});
  refused("sliding_window", -3, {"sliding_window", "-3"});
  refused("hidden_act", "tanh", {"hidden_act", "tanh", "silu"});
}

BOOST_AUTO_TEST_CASE(a_gemma3_that_says_otherwise_is_refused) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "gemma3_text", [&](auto& config) { config[key] = value; }, named);
  };
  refused("attention_bias", false, {"bias", "belongs to no part"});
  refused("head_dim", 10, {"q_proj", "shape"});
  refused("query_pre_attn_scalar", 0, {"query_pre_attn_scalar"});
}

BOOST_AUTO_TEST_CASE(a_bart_that_says_otherwise_is_refused) {
  const auto refused = [](const char* key, const boost::json::value& value, const std::vector<std::string>& named) {
    check_refused<load::load_error>(
        "bart_tiny", [&](auto& config) { config[key] = value; }, named);
  };
  refused("encoder_layers", 2, {"model.encoder.layers.2", "belongs to no part"});
  refused("decoder_layers", 3, {"model.decoder.layers.2", "missing"});
  refused("encoder_attention_heads", 4, {"encoder_attention_heads", "multiple"});
  refused("max_position_embeddings", 90, {"embed_positions", "shape"});
  refused("vocab_size", 100, {"shared", "shape"});
}

// Files of sessions and prefixes hold fingerprints, and those hold the numbers of types.
BOOST_AUTO_TEST_CASE(types_keep_their_numbers) {
  constexpr const char* names[] = {
      "f32",   "f16",     "bf16",    "f64",     "i8",      "i16",     "i32",         "i64",        "u8",
      "u16",   "u32",     "u64",     "boolean", "q4_0",    "q4_1",    "q5_0",        "q5_1",       "q8_0",
      "q4_k",  "q5_k",    "q6_k",    "q2_k",    "q3_k",    "iq4_nl",  "iq4_xs",      "mxfp4",      "iq1_s",
      "iq1_m", "iq2_xxs", "iq2_xs",  "iq2_s",   "iq3_xxs", "iq3_s",   "tq1_0",       "tq2_0",      "nvfp4",
      "q1_0",  "q2_0",    "f8_e4m3", "f8_e8m0", "q4_zero", "q8_zero", "scaled_e4m3", "scaled_e2m1"};
  for (std::size_t number = 0; number < std::size(names); ++number)
    BOOST_TEST(to_string(static_cast<element_type>(number)) == names[number]);
  BOOST_TEST(static_cast<int>(element_type::q8_0) == 17);
  BOOST_TEST(static_cast<int>(element_type::mxfp4) == 25);
  BOOST_TEST(static_cast<int>(element_type::q2_0) == 37);
  BOOST_TEST(static_cast<int>(element_type::scaled_e2m1) == 43);
  BOOST_TEST(element_type_count == std::size(names));
}

BOOST_AUTO_TEST_CASE(a_number_of_no_type_is_unknown) {
  const auto none = static_cast<element_type>(element_type_count);
  BOOST_TEST(to_string(none) == "unknown");
  BOOST_TEST(layout(none).bytes == 0);
  BOOST_TEST(!is_quantized(none));
}

BOOST_AUTO_TEST_CASE(models_that_differ_in_one_number_have_other_fingerprints) {
  struct change {
    std::string golden, object, key;
    boost::json::value value;
  };
  const std::vector<change> changes{{"phi3_long", "rope_scaling", "long_factor", {}},
                                    {"granite_published", "", "embedding_multiplier", 7.5},
                                    {"granite_published", "", "logits_scaling", 7.5},
                                    {"gemma2_published", "", "final_logit_softcapping", 7.5},
                                    {"llama_llama3", "rope_parameters", "low_freq_factor", 1.25}};
  for (const auto& [golden, object, key, value] : changes) {
    const golden_copy folder(golden);
    const auto fingerprint = load_model(folder.path())->fingerprint();
    folder.alter_config([&](boost::json::object& config) { config["transformers_version"] = "0.0.0"; });
    BOOST_TEST(load_model(folder.path())->fingerprint() == fingerprint, golden);
    folder.alter_config([&](boost::json::object& config) {
      auto& place = object.empty() ? config : config.at(object).as_object();
      auto& entry = place.at(key);
      if (value.is_null())
        entry.as_array().back() = 2.5;
      else
        entry = value;
    });
    BOOST_TEST(load_model(folder.path())->fingerprint() != fingerprint, golden << ": " << key);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
