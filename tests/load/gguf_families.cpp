#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/gguf_names.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "formats/checkpoint/rope_config.hpp"
#include "memory_file.hpp"
#include "network/models/gemma3_fields.hpp"
#include "refusal.hpp"
#include "tiny_model.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using namespace cogen::load;

namespace {

/// Two layers of 4 heads of 8.
gguf_draft file_of(const std::string& architecture, const std::vector<std::string>& more = {},
                   const std::vector<std::string>& tensors = {}) {
  auto draft = two_layers_of(architecture, 24, more, tensors);
  draft.entries.push_back(entry_u32(architecture + ".attention.key_length", 8));
  return draft;
}

template <class Use>
auto with_fields(const gguf_draft& draft, const Use& use) {
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  return use(config_fields::from_gguf(file));
}

model_config gguf_config(const gguf_draft& draft) {
  return with_fields(draft, [](const config_fields& fields) { return read_model_config(fields); });
}

bool says_true(const gguf_draft& draft, std::string_view key) {
  return with_fields(draft, [&](const config_fields& fields) { return fields.boolean(key, false); });
}

double number_in(const gguf_draft& draft, std::string_view key) {
  return with_fields(draft, [&](const config_fields& fields) { return fields.real(key, {-1e9, 1e9}); });
}

std::vector<float> floats_of(const weight& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.rows() * tensor.columns()));
  tensor.read_rows_as_float(0, tensor.rows(), values);
  return values;
}

std::string entry_bools(std::string_view key, std::initializer_list<bool> values) {
  std::string bytes;
  for (const bool value : values) bytes += raw(std::uint8_t{value});
  return entry_array(key, 7, values.size(), bytes);
}

std::string entry_floats(std::string_view key, const std::vector<float>& values) {
  return entry_array(key, 6, values.size(), raw_floats(values));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf_families)

BOOST_AUTO_TEST_CASE(architectures_have_a_familys_name) {
  const std::vector<std::pair<std::string, std::string>> expected{
      {"llama", "llama"},       {"command-r", "cohere"},
      {"cohere2", "cohere2"},   {"phi2", "phi"},
      {"phi3", "phi3"},         {"gemma3", "gemma3_text"},
      {"gemma2", "gemma2"},     {"mistral3", "ministral3"},
      {"gptneox", "gpt_neox"},  {"hunyuan-dense", "hunyuan_v1_dense"},
      {"seed_oss", "seed_oss"}, {"of-tomorrow", "of-tomorrow"}};
  for (const auto& [architecture, family] : expected) {
    BOOST_TEST(family_of_architecture(architecture) == family);
    BOOST_TEST(gguf_config(file_of(architecture)).family == family);
  }
}

BOOST_AUTO_TEST_CASE(keys_are_read_under_transformers_names) {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"attention_multiplier", "attention.scale"},
      {"embedding_multiplier", "embedding_scale"},
      {"residual_multiplier", "residual_scale"},
      {"logits_scaling", "logit_scale"},
      {"logit_scale", "logit_scale"},
      {"attn_config.clip_qkv", "attention.clamp_kqv"},
      {"rope_local_base_freq", "rope.freq_base_swa"},
      {"attn_logit_softcapping", "attn_logit_softcapping"},
      {"rope_scaling.llama_4_scaling_beta", "attention.temperature_scale"}};
  for (const auto& [asked, stored] : pairs)
    BOOST_TEST(number_in(file_of("granite", {entry_f32("granite." + stored, 0.25F)}), asked) == 0.25);
  const auto absent = refusal([] { number_in(file_of("granite"), "residual_multiplier"); });
  BOOST_TEST(says(absent, "granite.residual_multiplier is missing"));
  const auto wrong = refusal(
      [] { number_in(file_of("granite", {entry_f32("granite.residual_scale", 1e12F)}), "residual_multiplier"); });
  BOOST_TEST(says(wrong, "granite.residual_scale is 1"));
}

BOOST_AUTO_TEST_CASE(tensors_of_the_first_layer_show_biases_and_norms) {
  const std::vector<std::pair<std::string, std::string>> pairs{{"attention_bias", "blk.0.attn_q.bias"},
                                                               {"attention_bias", "blk.0.attn_qkv.bias"},
                                                               {"attention_out_bias", "blk.0.attn_output.bias"},
                                                               {"mlp_bias", "blk.0.ffn_up.bias"},
                                                               {"mlp_bias", "blk.0.ffn_down.bias"},
                                                               {"use_qk_norm", "blk.0.attn_q_norm.weight"},
                                                               {"qk_layernorm", "blk.0.attn_q_norm.weight"},
                                                               {"fused_qkv", "blk.0.attn_qkv.weight"}};
  for (const auto& [asked, tensor] : pairs) {
    BOOST_TEST(says_true(file_of("stablelm", {}, {tensor}), asked), asked);
    BOOST_TEST(!says_true(file_of("stablelm"), asked), asked);
  }
  BOOST_TEST(gguf_config(file_of("qwen2", {}, {"blk.0.attn_q.bias"})).attention_bias);
  BOOST_TEST(gguf_config(file_of("gpt2", {}, {"blk.0.ffn_up.bias"})).mlp_bias);
}

BOOST_AUTO_TEST_CASE(stablelm_is_parallel_where_a_layer_has_one_norm) {
  const auto claims = entry_bool("stablelm.use_parallel_residual", true);
  BOOST_TEST(says_true(file_of("stablelm", {claims}), "use_parallel_residual"));
  BOOST_TEST(!says_true(file_of("stablelm", {claims}, {"blk.0.ffn_norm.weight"}), "use_parallel_residual"));
  BOOST_TEST(
      says_true(file_of("gptneox", {entry_bool("gptneox.use_parallel_residual", true)}, {"blk.0.ffn_norm.weight"}),
                "use_parallel_residual"));
}

BOOST_AUTO_TEST_CASE(a_falcon_with_several_key_heads_has_groups) {
  const auto small = file_of("falcon", {entry_u32("falcon.attention.head_count_kv", 1)});
  const auto large = file_of("falcon", {entry_u32("falcon.attention.head_count_kv", 2)}, {"blk.0.attn_norm_2.weight"});
  BOOST_TEST(!says_true(small, "new_decoder_architecture"));
  BOOST_TEST(says_true(large, "new_decoder_architecture"));
  BOOST_TEST(number_in(small, "num_ln_in_parallel_attn") == 1.0);
  BOOST_TEST(number_in(large, "num_ln_in_parallel_attn") == 2.0);
  BOOST_TEST(number_in(large, "num_kv_heads") == 2.0);
}

BOOST_AUTO_TEST_CASE(windows_are_listed_or_repeat) {
  const std::vector<std::string> types{"sliding_attention", "full_attention"};
  const auto window = entry_u32("olmo2.attention.sliding_window", 7);
  const auto with = [&](std::string pattern) { return gguf_config(file_of("olmo2", {window, std::move(pattern)})); };
  const auto listed = with(entry_bools("olmo2.attention.sliding_window_pattern", {true, false}));
  BOOST_TEST(listed.sliding_window.value() == 7);
  BOOST_TEST(listed.layer_types == types, boost::test_tools::per_element());
  BOOST_TEST(with(entry_u32("olmo2.attention.sliding_window_pattern", 2)).layer_types == types,
             boost::test_tools::per_element());
  BOOST_TEST(gguf_config(file_of("olmo2", {window})).layer_types.empty());
  BOOST_TEST(!gguf_config(file_of("phi3", {entry_u32("phi3.attention.sliding_window", 0)})).sliding_window);
  const auto wrong = refusal([&] { with(entry_bools("olmo2.attention.sliding_window_pattern", {true})); });
  BOOST_TEST(says(wrong, "it must name block_count = 2 layers"));
}

BOOST_AUTO_TEST_CASE(activations_and_limits_are_those_of_the_family) {
  BOOST_TEST(gguf_config(file_of("gemma2")).activation == "gelu_pytorch_tanh");
  BOOST_TEST(gguf_config(file_of("phi2")).activation == "gelu_new");
  BOOST_TEST(gguf_config(file_of("gptneox")).activation == "gelu");
  BOOST_TEST(gguf_config(file_of("nemotron")).activation == "relu2");
  BOOST_TEST(gguf_config(file_of("llama")).activation == "silu");
  BOOST_TEST(gguf_config(file_of("bloom")).max_positions == unlimited_positions);
  BOOST_TEST(gguf_config(file_of("gpt2")).max_positions == 64);
  BOOST_TEST(gguf_config(file_of("gpt2")).rope.rotary_dim == 0);
  BOOST_TEST(gguf_config(file_of("falcon", {entry_f32("falcon.attention.layer_norm_epsilon", 0.5F)})).rms_norm_eps ==
             0.5);
}

BOOST_AUTO_TEST_CASE(gemma_scales_scores_by_its_size) {
  BOOST_TEST(number_in(file_of("gemma2"), "query_pre_attn_scalar") == 8.0);
  auto largest = file_of("gemma2");
  std::erase_if(largest.entries,
                [](const std::string& written) { return written.find("block_count") != written.npos; });
  largest.entries.push_back(entry_u32("gemma2.block_count", 46));
  BOOST_TEST(number_in(largest, "query_pre_attn_scalar") == 6.0);
}

BOOST_AUTO_TEST_CASE(window_layers_have_a_base_of_their_own) {
  const auto local = with_fields(
      file_of("gemma3", {entry_u32("gemma3.attention.sliding_window", 7), entry_f32("gemma3.rope.freq_base", 1e6F),
                         entry_f32("gemma3.rope.freq_base_swa", 500)}),
      [](const config_fields& fields) {
        return cogen::models::read_gemma3_fields(fields, read_model_config(fields)).local;
      });
  BOOST_TEST(local.theta == 500.0);
  BOOST_TEST(local.rotary_dim == 8);
}

BOOST_AUTO_TEST_CASE(yarn_and_longrope_are_read) {
  const auto with = [](std::vector<std::string> more, std::vector<std::string> tensors = {}) {
    more.push_back(entry_u32("phi3.rope.scaling.original_context_length", 16));
    return file_of("phi3", more, tensors);
  };
  const auto yarn =
      gguf_config(with({entry_text("phi3.rope.scaling.type", "yarn"), entry_f32("phi3.rope.scaling.factor", 4),
                        entry_f32("phi3.rope.scaling.yarn_attn_factor", 1.25F),
                        entry_f32("phi3.rope.scaling.yarn_log_multiplier", 0.5F)}));
  BOOST_TEST(yarn.rope.attention_factor.value() == 1.25);
  BOOST_TEST(yarn.rope.mscale.value() == 1.0);
  BOOST_TEST(yarn.rope.mscale_all_dim.value() == 0.5);
  auto draft = with({entry_f32("phi3.rope.scaling.attn_factor", 1.5F)});
  draft.add("rope_factors_long.weight", {4}, 0, raw_floats({2, 3, 4, 5}));
  const auto config = [&] {
    const memory_file written(draft.bytes());
    return checkpoint(written.path()).config();
  };
  BOOST_TEST(says(refusal(config), "tensor 'rope_factors_short.weight' of its longrope is missing"));
  draft.add("rope_factors_short.weight", {4}, 0, raw_floats({1, 1, 2, 2}));
  const auto rope = config().rope;
  BOOST_TEST((rope.kind == rope_kind::longrope));
  BOOST_TEST(rope.original_positions == 16);
  BOOST_TEST(rope.attention_factor.value() == 1.5);
  BOOST_TEST(rope.frequency_factors == (std::vector<float>{1, 1, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(rope.long_factors == (std::vector<float>{2, 3, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(numbers_of_xielu_are_tensors_of_each_layer) {
  const auto draft = file_of("apertus",
                             {entry_floats("xielu.alpha_p", {1, 2}), entry_floats("xielu.alpha_n", {3, 4}),
                              entry_floats("xielu.beta", {0.5F, 0.25F}), entry_floats("xielu.eps", {-5, -6})},
                             {"output_norm.weight"});
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  const auto number_of = [&](std::string_view name) {
    std::vector<float> value(1);
    files.find(name).value().read_rows_as_float(0, 1, value);
    return value.front();
  };
  BOOST_TEST(number_of("blk.1.act_fn.alpha_p") == 2);
  BOOST_TEST(number_of("blk.0.act_fn.alpha_n") == 3);
  BOOST_TEST(number_of("blk.1.act_fn.beta") == 0.25);
  BOOST_TEST(number_of("blk.0.act_fn.eps") == -5);
  BOOST_TEST(files.find("blk.0.act_fn.alpha_p")->shape() == std::vector<std::int64_t>{1});
  BOOST_TEST(files.find("blk.0.act_fn.beta")->shape().empty());
  BOOST_TEST(!files.find("blk.2.act_fn.beta"));
  BOOST_TEST(files.weight_names().size() == 9U);
  const auto short_list = refusal([] {
    const memory_file file(file_of("apertus", {entry_floats("xielu.beta", {1})}).bytes());
    checkpoint opened(file.path());
  });
  BOOST_TEST(says(short_list, "it must have a number for each of 2 layers"));
}

BOOST_AUTO_TEST_CASE(scans_are_read_as_transformers_keeps_them) {
  auto draft = file_of("mamba", {entry_u32("mamba.ssm.inner_size", 48), entry_u32("mamba.ssm.state_size", 3)});
  draft.add("blk.1.ssm_conv1d.weight", {2, 4}, 0, counting_floats(8));
  draft.add("blk.1.ssm_a", {2, 2}, 0, raw_floats({-1, -2, -0.5F, -4}));
  draft.add("blk.1.ssm_d", {2}, 0, raw_floats({7, 8}));
  draft.add("blk.1.ssm_dt.bias", {2}, 0, raw_floats({5, 6}));
  draft.add("blk.0.ssm_a", {1}, 0, raw_floats({1}));
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  BOOST_TEST(floats_of(files.at("blk.1.mamba.conv1d.weight", {4, 1, 2})).size() == 8U);
  const std::vector<float> logarithms{std::log(1.0F), std::log(2.0F), std::log(0.5F), std::log(4.0F)};
  BOOST_TEST(floats_of(files.at("blk.1.mamba.A_log", {2, 2})) == logarithms, boost::test_tools::per_element());
  BOOST_TEST(floats_of(files.at("blk.1.mamba.D", {2})) == (std::vector<float>{7, 8}), boost::test_tools::per_element());
  BOOST_TEST(floats_of(files.at("blk.1.mamba.dt_proj.bias", {2})) == (std::vector<float>{5, 6}),
             boost::test_tools::per_element());
  BOOST_TEST(!files.find("blk.1.mamba.in_proj.weight"));
  BOOST_TEST(says(refusal([&] { floats_of(files.at("blk.0.mamba.A_log", {1})); }), "numbers below 0 are allowed"));
  BOOST_TEST(number_in(draft, "expand") == 2.0);
  BOOST_TEST(number_in(draft, "state_size") == 3.0);
  BOOST_TEST(gguf_config(draft).heads == 0);
}

BOOST_AUTO_TEST_CASE(short_convolutions_show_which_layers_have_them) {
  auto draft = file_of("lfm2", {entry_u32("lfm2.shortconv.l_cache", 4)});
  draft.add("blk.1.shortconv.conv.weight", {4, 2}, 0, counting_floats(8));
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  BOOST_TEST(floats_of(files.at("blk.1.conv.conv.weight", {2, 1, 4})).size() == 8U);
  BOOST_TEST(!files.find("blk.1.conv.in_proj.weight"));
  BOOST_TEST(number_in(draft, "conv_L_cache") == 4.0);
  const std::vector<std::string> types{"full_attention", "conv"};
  BOOST_TEST(gguf_config(draft).layer_types == types, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(delta_nets_are_read_as_transformers_keeps_them) {
  auto draft = file_of("qwen35", {entry_u32("qwen35.ssm.inner_size", 21), entry_u32("qwen35.ssm.time_step_rank", 3)},
                       {"blk.1.attn_q.weight"});
  draft.add("blk.0.ssm_conv1d.weight", {4, 2}, 0, counting_floats(8));
  draft.add("blk.0.ssm_a", {2}, 0, raw_floats({-1, -2}));
  draft.add("blk.0.ssm_dt.bias", {2}, 0, raw_floats({5, 6}));
  draft.add("blk.0.attn_qkv.weight", {2, 3}, 0, counting_floats(6));
  draft.add("blk.0.ssm_beta.weight", {2, 1}, 0, raw_floats({7, 8}));
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  const auto read = [&](const char* name, std::initializer_list<std::int64_t> shape) {
    return floats_of(files.at(std::string("blk.0.linear_attn.") + name, shape));
  };
  BOOST_TEST(read("conv1d.weight", {2, 1, 4}).size() == 8U);
  BOOST_TEST(read("in_proj_qkv.weight", {3, 2}).size() == 6U);
  const std::vector<float> logarithms{0, std::log(2.0F)};
  BOOST_TEST(read("A_log", {2}) == logarithms, boost::test_tools::per_element());
  BOOST_TEST(read("dt_bias", {2}) == (std::vector<float>{5, 6}), boost::test_tools::per_element());
  BOOST_TEST(read("in_proj_b.weight", {1, 2}) == (std::vector<float>{7, 8}), boost::test_tools::per_element());
  BOOST_TEST(number_in(draft, "linear_value_head_dim") == 7.0);
  BOOST_TEST(!says_true(draft, "fused_qkv"));
  const std::vector<std::string> types{"linear_attention", "full_attention"};
  BOOST_TEST(gguf_config(draft).layer_types == types, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(mixers_of_a_mamba2_are_read_as_transformers_keeps_them) {
  auto draft = file_of("mamba2", {entry_u32("mamba2.ssm.inner_size", 48), entry_u32("mamba2.ssm.time_step_rank", 6),
                                  entry_u32("mamba2.ssm.group_count", 2)});
  draft.add("blk.1.ssm_a", {1, 2}, 0, raw_floats({-1, -2}));
  draft.add("blk.1.ssm_d", {1, 2}, 0, raw_floats({7, 8}));
  draft.add("blk.1.ssm_norm.weight", {3, 2}, 0, counting_floats(6));
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  const std::vector<float> logarithms{0, std::log(2.0F)};
  BOOST_TEST(floats_of(files.at("blk.1.mamba2.A_log", {2})) == logarithms, boost::test_tools::per_element());
  BOOST_TEST(floats_of(files.at("blk.1.mamba2.D", {2})) == (std::vector<float>{7, 8}),
             boost::test_tools::per_element());
  BOOST_TEST(floats_of(files.at("blk.1.mamba2.norm.weight", {6})).size() == 6U);
  BOOST_TEST(number_in(draft, "num_heads") == 6.0);
  BOOST_TEST(number_in(draft, "head_dim") == 8.0);
  BOOST_TEST(number_in(draft, "n_groups") == 2.0);
}

BOOST_AUTO_TEST_CASE(key_heads_of_some_layers_order_their_rows) {
  auto draft = file_of("granitehybrid", {entry_array("granitehybrid.attention.head_count_kv", 5, 2,
                                                     raw(std::int32_t{0}) + raw(std::int32_t{1}))});
  draft.add("blk.1.attn_k.weight", {1, 8}, 0, counting_floats(8));
  const memory_file written(draft.bytes());
  const auto rows = floats_of(checkpoint(written.path()).find("blk.1.attn_k.weight").value());
  BOOST_TEST(rows == (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_hybrid_granites_feed_forward_is_the_shared_one) {
  const auto width = [](std::uint32_t shared) {
    return number_in(file_of("granitehybrid", {entry_u32("granitehybrid.expert_shared_feed_forward_length", shared)}),
                     "shared_intermediate_size");
  };
  BOOST_TEST(width(20) == 20.0);
  BOOST_TEST(width(0) == 12.0);
}

BOOST_AUTO_TEST_CASE(some_norms_have_no_suffix) {
  const memory_file written(file_of("falcon-h1", {}, {"blk.1.ffn_norm"}).bytes());
  const checkpoint files(written.path());
  BOOST_TEST(floats_of(files.at("blk.1.bare.ffn_norm.weight", {1})).size() == 1U);
  const std::vector<std::string> expected{"blk.1.bare.ffn_norm.weight"};
  files.refuse_others(expected);
}

BOOST_AUTO_TEST_CASE(layers_that_guess_further_tokens_do_not_count) {
  const auto draft = file_of("qwen35", {entry_u32("qwen35.nextn_predict_layers", 1)}, {"blk.0.ssm_beta.weight"});
  BOOST_TEST(gguf_config(draft).layers == 1);
  BOOST_TEST(gguf_config(draft).layer_types.size() == 1U);
  const auto written = file_of("qwen35", {entry_u32("qwen35.nextn_predict_layers", 2)});
  BOOST_TEST(says(refusal([&] { gguf_config(written); }), "nextn_predict_layers is 2; an integer from 0 to 1"));
}

BOOST_AUTO_TEST_CASE(a_t5_has_the_layers_of_its_decoder) {
  const auto same = gguf_config(file_of("t5"));
  BOOST_TEST(same.layers == 2);
  BOOST_TEST(same.decoder_start.value() == 0);
  const auto other =
      gguf_config(file_of("t5", {entry_u32("t5.decoder_block_count", 1), entry_u32("t5.decoder_start_token_id", 2)}));
  BOOST_TEST(other.layers == 1);
  BOOST_TEST(other.decoder_start.value() == 2);
  BOOST_TEST(!gguf_config(file_of("llama")).decoder_start);
}

BOOST_AUTO_TEST_CASE(layers_without_a_router_are_listed) {
  const auto draft = file_of("qwen2moe", {}, {"blk.1.ffn_gate_inp.weight"});
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  const auto without = config_fields::from_gguf(file).integers("mlp_only_layers", {0, 1});
  BOOST_TEST(without == std::vector<std::int64_t>{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(layers_of_a_jamba_repeat) {
  const auto heads = entry_array("jamba.attention.head_count_kv", 5, 2, raw(std::int32_t{0}) + raw(std::int32_t{2}));
  auto draft = file_of("jamba", {}, {"blk.1.attn_q.weight", "blk.0.ffn_gate_inp.weight", "blk.1.ffn_gate_inp.weight"});
  draft.entries.push_back(heads);
  BOOST_TEST(gguf_config(draft).kv_heads == 2);
  BOOST_TEST(number_in(draft, "attn_layer_offset") == 1.0);
  BOOST_TEST(number_in(draft, "attn_layer_period") == 3.0);
  BOOST_TEST(number_in(draft, "expert_layer_offset") == 0.0);
  BOOST_TEST(number_in(draft, "expert_layer_period") == 1.0);
}

BOOST_AUTO_TEST_CASE(rows_are_interleaved_in_some_architectures) {
  for (const auto* family : {"llama", "granite", "granitemoe", "smollm3", "arcee", "ministral3"})
    BOOST_TEST(stores_interleaved_heads(family), family);
  BOOST_TEST(stores_interleaved_heads("granitemoehybrid"));
  for (const auto* family : {"qwen2", "cohere", "glm4", "ernie4_5", "apertus", "olmo2", "of-tomorrow"})
    BOOST_TEST(!stores_interleaved_heads(family), family);
  BOOST_TEST((rows_of("blk.3.attn_q.weight") == gguf_rows::queries));
  BOOST_TEST((rows_of("blk.3.attn_k.bias") == gguf_rows::keys));
  BOOST_TEST((rows_of("blk.3.attn_v.weight") == gguf_rows::others));
  BOOST_TEST((rows_of("attn_q_norm.weight") == gguf_rows::others));
  const auto read = [](const std::string& architecture, std::uint64_t rows, const std::string& name) {
    auto draft = file_of(architecture);
    draft.add(name, {1, rows}, 0, counting_floats(rows));
    const memory_file written(draft.bytes());
    std::vector<float> values(rows);
    checkpoint(written.path()).find(name).value().read_rows_as_float(0, static_cast<std::int64_t>(rows), values);
    return values;
  };
  const std::vector<float> stored{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::vector<float> restored{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15};
  BOOST_TEST(read("granite", 16, "blk.0.attn_q.weight") == restored, boost::test_tools::per_element());
  BOOST_TEST(read("qwen3", 16, "blk.0.attn_q.weight") == stored, boost::test_tools::per_element());
  BOOST_TEST(read("qwen3", 16, "blk.0.attn_qkv.weight") == stored, boost::test_tools::per_element());
  const auto fused = refusal([&] { read("llama", 16, "blk.0.attn_qkv.weight"); });
  BOOST_TEST(says(fused, "of a llama model they are read apart"));
}

BOOST_AUTO_TEST_SUITE_END()
