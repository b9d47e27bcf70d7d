#include "../load/memory_file.hpp"
#include "../load/refusal.hpp"
#include "../load/tiny_model.hpp"
#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/families.hpp"
#include "network/models/pooling.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

using namespace cogen;
using namespace cogen::models;

namespace {

/// What a file of two layers with these entries and tensors of one number is described as.
model_spec spec_of(const std::string& architecture, const std::vector<std::string>& more = {},
                   const std::vector<std::string>& tensors = {}, std::uint32_t window = 7) {
  auto draft = two_layers_of(architecture, 32, more, tensors);
  draft.entries.push_back(entry_u32(architecture + ".attention.sliding_window", window));
  const memory_file written(draft.bytes());
  const load::gguf_file file(written.path());
  const auto fields = load::config_fields::from_gguf(file);
  return family_named(fields.family())(fields, load::read_model_config(fields));
}

/// The names of a layer's norms: before and after attention, before and after the feed-forward; "-" for none.
std::vector<std::string> norms_of(const model_spec& spec, std::size_t layer) {
  std::vector<std::string> names;
  for (std::size_t index = 2 * layer; index < 2 * layer + 2; ++index) {
    const auto& block = spec.blocks.at(index);
    names.push_back(block.pre_norm ? block.pre_norm->name : "-");
    names.push_back(block.after ? block.after->name : "-");
  }
  return names;
}

/// How texts are pooled by such a file.
std::optional<pooling_spec> pooling_of(const std::string& architecture, const std::vector<std::string>& more = {},
                                       const std::vector<std::string>& tensors = {}) {
  const memory_file written(two_layers_of(architecture, 32, more, tensors).bytes());
  const load::checkpoint files(written.path());
  return with_pooling(family_named(files.family())(files.fields(), files.config()), files).pooling;
}

std::string refused_pooling(const std::string& architecture, const std::vector<std::string>& more) {
  return refusal([&] { pooling_of(architecture, more); });
}

using names = std::vector<std::string>;

const attention_spec& attention_of(const model_spec& spec) { return std::get<attention_spec>(spec.blocks.at(0).part); }
const mlp_spec& mlp_of(const model_spec& spec) { return std::get<mlp_spec>(spec.blocks.at(1).part); }

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf_specs)

BOOST_AUTO_TEST_CASE(norms_are_named_by_their_place) {
  const names pre_norms{"blk.1.attn_norm", "-", "blk.1.ffn_norm", "-"};
  const names around{"blk.1.attn_norm", "blk.1.post_attention_norm", "blk.1.ffn_norm", "blk.1.post_ffw_norm"};
  const names behind{"-", "blk.1.post_attention_norm", "-", "blk.1.post_ffw_norm"};
  const names shared{"blk.1.attn_norm", "-", "blk.1.attn_norm", "-"};
  for (const auto* each :
       {"llama", "qwen2", "qwen3", "gemma", "phi3", "granite", "smollm3", "mistral3", "arcee", "ernie4_5",
        "hunyuan-dense", "apertus", "starcoder2", "nemotron", "gpt2", "gptneox", "bloom", "mpt", "starcoder"})
    BOOST_TEST(norms_of(spec_of(each), 1) == pre_norms, each << boost::test_tools::per_element());
  for (const auto* each : {"gemma2", "gemma3", "glm4"})
    BOOST_TEST(norms_of(spec_of(each), 1) == around, each << boost::test_tools::per_element());
  for (const auto* each : {"olmo2", "exaone4"})
    BOOST_TEST(norms_of(spec_of(each), 1) == behind, each << boost::test_tools::per_element());
  for (const auto* each : {"command-r", "cohere2", "phi2", "falcon", "stablelm"})
    BOOST_TEST(norms_of(spec_of(each), 1) == shared, each << boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_few_norms_have_other_names) {
  const names seed{"blk.1.attn_norm", "-", "blk.1.post_attention_norm", "-"};
  BOOST_TEST(norms_of(spec_of("seed_oss"), 1) == seed, boost::test_tools::per_element());
  const auto falcon = spec_of("falcon", {entry_u32("falcon.attention.head_count_kv", 2)}, {"blk.0.attn_norm_2.weight"});
  const names two{"blk.1.attn_norm_2", "-", "blk.1.attn_norm", "-"};
  BOOST_TEST(norms_of(falcon, 1) == two, boost::test_tools::per_element());
  BOOST_TEST(attention_of(falcon).kv_heads == 2);
}

BOOST_AUTO_TEST_CASE(a_layer_for_multi_token_prediction_follows_the_others) {
  for (const std::string architecture : {"glm4moe", "qwen35"}) {
    const auto predicting = [&](std::uint32_t layers) {
      return spec_of(architecture, {entry_u32(architecture + ".nextn_predict_layers", layers)});
    };
    BOOST_TEST(!predicting(0).mtp);
    const auto spec = predicting(1);
    BOOST_TEST_REQUIRE(spec.mtp.has_value());
    BOOST_TEST(spec.blocks.size() == 2u);  // of one layer
    BOOST_TEST(spec.mtp->projection == "blk.1.nextn.eh_proj");
    BOOST_TEST(spec.mtp->embedding_norm.name == "blk.1.nextn.enorm");
    BOOST_TEST(spec.mtp->hidden_norm.name == "blk.1.nextn.hnorm");
    BOOST_TEST(spec.mtp->final_norm->name == "blk.1.nextn.shared_head_norm");
    for (const auto* norm : {&spec.mtp->embedding_norm, &spec.mtp->hidden_norm, &*spec.mtp->final_norm})
      BOOST_TEST(norm->weight_offset == 0);
    BOOST_TEST(spec.mtp->blocks.at(0).prefix == "blk.1.");
    BOOST_TEST(spec.mtp->blocks.at(0).pre_norm->name == "blk.1.attn_norm");
    BOOST_TEST(spec.mtp->blocks.at(1).pre_norm->name == "blk.1.post_attention_norm");
    BOOST_TEST(std::get<attention_spec>(spec.mtp->blocks.at(0).part).output == "attn_output");
  }
}

BOOST_AUTO_TEST_CASE(projections_have_ggufs_names) {
  const auto llama = spec_of("llama", {}, {"output.weight"});
  BOOST_TEST(llama.base.empty());
  BOOST_TEST(llama.embedding.names == names{"token_embd"}, boost::test_tools::per_element());
  BOOST_TEST(llama.final_norm->name == "output_norm");
  BOOST_TEST(llama.blocks.at(3).prefix == "blk.1.");
  const names separate{"attn_q", "attn_k", "attn_v"};
  BOOST_TEST(attention_of(llama).qkv == separate, boost::test_tools::per_element());
  BOOST_TEST(attention_of(llama).output == "attn_output");
  BOOST_TEST(mlp_of(llama).gate == "ffn_gate");
  BOOST_TEST(mlp_of(llama).up == "ffn_up");
  BOOST_TEST(mlp_of(llama).down == "ffn_down");
  const auto phi3 = spec_of("phi3", {}, {"blk.0.attn_qkv.weight"});
  BOOST_TEST(attention_of(phi3).qkv == names{"attn_qkv"}, boost::test_tools::per_element());
  BOOST_TEST(mlp_of(phi3).gate == "ffn_up");
  BOOST_TEST(mlp_of(spec_of("arcee")).gate.empty());
  BOOST_TEST(attention_of(spec_of("hunyuan-dense")).qk_norm->q == "attn_q_norm");
  BOOST_TEST(attention_of(spec_of("stablelm", {}, {"blk.0.attn_q_norm.weight"})).qk_norm->k == "attn_k_norm");
  BOOST_TEST(spec_of("gpt2").embedding.positions->name == "position_embd");
  BOOST_TEST(spec_of("bloom").embedding.norm->name == "token_embd_norm");
  BOOST_TEST(spec_of("phi2").head.bias == "output.bias");
}

BOOST_AUTO_TEST_CASE(norms_have_their_offset_already) {
  for (const auto* each : {"gemma", "gemma2", "gemma3", "nemotron"}) {
    const auto spec = spec_of(each);
    BOOST_TEST(spec.final_norm->weight_offset == 0, each);
    for (const auto& block : spec.blocks) {
      BOOST_TEST(block.pre_norm->weight_offset == 0, each);
      if (block.after) BOOST_TEST(block.after->weight_offset == 0, each);
    }
  }
  BOOST_TEST(attention_of(spec_of("gemma3")).qk_norm->weight_offset == 0);
}

BOOST_AUTO_TEST_CASE(matrices_are_in_order) {
  const auto gpt2 = spec_of("gpt2", {}, {"blk.0.attn_qkv.weight", "blk.0.attn_qkv.bias"});
  BOOST_TEST(!attention_of(gpt2).transposed);
  BOOST_TEST(!mlp_of(gpt2).transposed);
  for (const auto* each : {"gptneox", "bloom", "falcon", "starcoder"})
    BOOST_TEST(!attention_of(spec_of(each, {}, {"blk.0.attn_qkv.weight"})).grouped_qkv, each);
}

BOOST_AUTO_TEST_CASE(biases_are_those_of_the_file) {
  const auto with = spec_of("qwen2", {}, {"blk.0.attn_q.bias", "blk.0.ffn_up.bias"});
  BOOST_TEST(attention_of(with).qkv_bias);
  BOOST_TEST(!attention_of(with).output_bias);
  BOOST_TEST(mlp_of(with).bias);
  const auto without = spec_of("phi2", {}, {"blk.0.attn_output.bias"});
  BOOST_TEST(!attention_of(without).qkv_bias);
  BOOST_TEST(attention_of(without).output_bias);
  BOOST_TEST(!mlp_of(without).bias);
}

BOOST_AUTO_TEST_CASE(scans_have_the_names_of_views_and_experts_are_stacked) {
  const auto jamba =
      spec_of("jamba", {entry_u32("jamba.expert_count", 4)}, {"blk.0.attn_q.weight", "blk.1.ffn_gate_inp.weight"});
  BOOST_TEST(jamba.blocks.at(2).prefix == "blk.1.mamba.");
  BOOST_TEST(jamba.blocks.at(2).pre_norm->name == "blk.1.attn_norm");
  const auto& experts = std::get<moe_spec>(jamba.blocks.at(3).part);
  BOOST_TEST(jamba.blocks.at(3).prefix == "blk.1.");
  BOOST_TEST(experts.router.name == "ffn_gate_inp");
  BOOST_TEST(experts.expert.down == "ffn_down_exps");
  BOOST_TEST(experts.stacked);
}

BOOST_AUTO_TEST_CASE(experts_are_found_in_each_family) {
  const auto experts_of = [](const std::string& name, const std::vector<std::string>& tensors) {
    return std::get<moe_spec>(spec_of(name, {entry_u32(name + ".expert_count", 4)}, tensors).blocks.at(3).part);
  };
  for (const auto* each : {"llama", "qwen2moe", "qwen3moe", "olmoe", "granitemoe", "dots1", "glm4moe"}) {
    const auto apart = experts_of(each, {"blk.1.ffn_gate_inp.weight"});
    BOOST_TEST(apart.experts == 4, each);
    BOOST_TEST(apart.stacked, each);
    BOOST_TEST(apart.expert.gate == "ffn_gate_exps", each);
    BOOST_TEST(apart.expert.up == "ffn_up_exps", each);
    const auto fused = experts_of(each, {"blk.0.ffn_gate_up_exps.weight", "blk.1.ffn_gate_inp.weight"});
    BOOST_TEST(fused.expert.gate == "ffn_gate_up_exps", each);
    BOOST_TEST(fused.expert.up == "ffn_gate_up_exps", each);
  }
  BOOST_TEST(experts_of("qwen2moe", {"blk.1.ffn_gate_inp.weight"}).shared->gate == "ffn_gate_inp_shexp");
  BOOST_TEST(experts_of("qwen2moe", {"blk.1.ffn_gate_inp.weight"}).shared->mlp.down == "ffn_down_shexp");
}

BOOST_AUTO_TEST_CASE(experts_that_are_chosen_with_a_bias_are_found) {
  for (const auto* each : {"dots1", "glm4moe"}) {
    const auto spec = spec_of(each, {entry_u32(std::string(each) + ".expert_count", 8),
                                     entry_u32(std::string(each) + ".leading_dense_block_count", 1)});
    BOOST_TEST(mlp_of(spec).up == "ffn_up", each);
    const auto& experts = std::get<moe_spec>(spec.blocks.at(3).part);
    BOOST_TEST(experts.router.choice_bias == "exp_probs_b.bias", each);
    BOOST_TEST(experts.shared->mlp.down == "ffn_down_shexp", each);
  }
  const auto minimax = spec_of("minimax-m2", {entry_u32("minimax-m2.expert_count", 8)});
  BOOST_TEST(std::get<moe_spec>(minimax.blocks.at(1).part).router.choice_bias == "exp_probs_b.bias");
  BOOST_TEST((attention_of(minimax).qk_norm->over == qk_norm_spec::scope::width));
  const auto norm_of = [](const std::string& name) { return spec_of(name, {}).blocks.at(1).pre_norm->name; };
  BOOST_TEST(norm_of("glm4moe") == "blk.0.post_attention_norm");
  BOOST_TEST(norm_of("dots1") == "blk.0.ffn_norm");
}

BOOST_AUTO_TEST_CASE(gpt_oss_has_sinks_and_experts_with_biases) {
  const auto spec = spec_of("gpt-oss", {entry_u32("gpt-oss.expert_count", 8)}, {"blk.0.ffn_up_exps.bias"});
  BOOST_TEST(attention_of(spec).sink_logits == "attn_sinks.weight");
  BOOST_TEST((attention_of(spec).kv.kind == cache::layer_kind::sliding));
  BOOST_TEST(!attention_of(spec).rope->config.truncate);
  BOOST_TEST(spec.blocks.at(1).pre_norm->name == "blk.0.post_attention_norm");
  const auto& experts = std::get<moe_spec>(spec.blocks.at(1).part);
  BOOST_TEST(experts.expert.gate == "ffn_gate_exps");
  BOOST_TEST(experts.expert.up == "ffn_up_exps");
  BOOST_TEST((experts.expert.bias && experts.router.bias));
  BOOST_TEST((!experts.expert.transposed && !experts.expert.interleaved));
}

BOOST_AUTO_TEST_CASE(latent_attention_is_found_in_one_matrix_and_in_two) {
  const auto spec_with = [](const std::string& name, const std::vector<std::string>& tensors,
                            const std::vector<std::string>& more) {
    std::vector<std::string> entries{entry_u32(name + ".attention.kv_lora_rank", 12),
                                     entry_u32(name + ".rope.dimension_count", 4)};
    entries.insert(entries.end(), more.begin(), more.end());
    const auto spec = spec_of(name, entries, tensors);
    BOOST_TEST(spec.blocks.at(2).prefix == "blk.1.");
    return std::get<latent_attention_spec>(spec.blocks.at(2).part);
  };
  const std::vector<std::string> experts{entry_u32("deepseek2.expert_count", 4),
                                         entry_u32("deepseek2.expert_used_count", 2)};
  auto old_sizes = experts, new_sizes = experts;
  for (const auto& [key, value] : {std::pair("key_length", 9U), std::pair("value_length", 7U)}) {
    const auto name = std::string("deepseek2.attention.") + key;
    old_sizes.push_back(entry_u32(name, value));
    new_sizes.push_back(entry_u32(name, 16));
    new_sizes.push_back(entry_u32(name + "_mla", value));
  }
  const auto old_file = spec_with("deepseek2", {"blk.0.attn_kv_b.weight"}, old_sizes);
  const auto new_file = spec_with("deepseek2", {"blk.0.attn_k_b.weight"}, new_sizes);
  for (const auto& each : {old_file, new_file}) {
    BOOST_TEST(each.nope_dim == 5);
    BOOST_TEST(each.rope_dim == 4);
    BOOST_TEST(each.value_dim == 7);
    BOOST_TEST(each.q_rank == 0);
    BOOST_TEST(each.rope.interleaved);
    BOOST_TEST(each.kv_down == "attn_kv_a_mqa");
  }
  BOOST_TEST(old_file.kv_up == names{"attn_kv_b"}, boost::test_tools::per_element());
  BOOST_TEST(new_file.kv_up == (names{"attn_k_b", "attn_v_b"}), boost::test_tools::per_element());
  const auto halves =
      spec_with("minicpm3", {"blk.0.attn_kv_b.weight"}, {entry_u32("minicpm3.attention.key_length", 9)});
  BOOST_TEST(!halves.rope.interleaved);
  BOOST_TEST(halves.value_dim == 8);
}

BOOST_AUTO_TEST_CASE(a_deepseek_chooses_experts_as_its_file_shows) {
  const auto router_of = [](const std::vector<std::string>& tensors, const std::vector<std::string>& more) {
    std::vector<std::string> entries{entry_u32("deepseek2.expert_count", 4),
                                     entry_u32("deepseek2.expert_used_count", 2),
                                     entry_u32("deepseek2.attention.kv_lora_rank", 12),
                                     entry_u32("deepseek2.attention.key_length", 9),
                                     entry_u32("deepseek2.attention.value_length", 7),
                                     entry_u32("deepseek2.rope.dimension_count", 4),
                                     entry_u32("deepseek2.leading_dense_block_count", 1)};
    entries.insert(entries.end(), more.begin(), more.end());
    return std::get<moe_spec>(spec_of("deepseek2", entries, tensors).blocks.at(3).part).router;
  };
  using enum router_spec::scoring;
  BOOST_CHECK(router_of({}, {}).scores == softmax);
  BOOST_CHECK(router_of({}, {entry_u32("deepseek2.expert_gating_func", 2)}).scores == sigmoid);
  BOOST_CHECK(router_of({"blk.1.exp_probs_b.bias"}, {}).scores == sigmoid);
  BOOST_TEST(router_of({}, {entry_u32("deepseek2.expert_group_count", 2)}).groups == 2);
}

BOOST_AUTO_TEST_CASE(shares_are_renormalized_where_llama_cpp_does) {
  const auto renormalizes = [](const std::string& name) {
    const auto spec = spec_of(name, {entry_u32(name + ".expert_count", 4)}, {"blk.1.ffn_gate_inp.weight"});
    return std::get<moe_spec>(spec.blocks.at(3).part).router.renormalized;
  };
  for (const auto* each : {"llama", "qwen3moe", "granitemoe"}) BOOST_TEST(renormalizes(each), each);
  for (const auto* each : {"qwen2moe", "olmoe"}) BOOST_TEST(!renormalizes(each), each);
}

BOOST_AUTO_TEST_CASE(layers_of_other_mixers_have_their_names) {
  const auto qwen = spec_of("qwen35", {entry_u32("qwen35.nextn_predict_layers", 1)}, {"blk.0.ssm_beta.weight"});
  BOOST_TEST(qwen.blocks.size() == 2U);
  BOOST_TEST(qwen.blocks.at(0).prefix == "blk.0.linear_attn.");
  BOOST_TEST(std::get<delta_net_spec>(qwen.blocks.at(0).part).tiled);
  BOOST_TEST(qwen.blocks.at(1).pre_norm->name == "blk.0.post_attention_norm");
  BOOST_TEST(qwen.blocks.at(1).pre_norm->weight_offset == 0);
  BOOST_TEST(qwen.unread == (names{"blk.1.*", "model.layers.1.*"}), boost::test_tools::per_element());
  const auto next = spec_of("qwen3next", {entry_u32("qwen3next.expert_count", 4)}, {"blk.0.ssm_norm.weight"});
  const auto& net = std::get<delta_net_spec>(next.blocks.at(0).part);
  BOOST_TEST((!net.tiled && !net.grouped_qkvz && net.grouped_ba));
  BOOST_TEST(std::holds_alternative<attention_spec>(next.blocks.at(2).part));
  for (const auto* each : {"qwen3next", "qwen35moe"}) {
    const auto with_experts = spec_of(each, {entry_u32(std::string(each) + ".expert_count", 4)},
                                      {"blk.0.ffn_gate_inp.weight", "blk.1.ffn_gate_inp.weight"});
    BOOST_TEST(with_experts.blocks.at(1).pre_norm->name == "blk.0.post_attention_norm", each);
    const auto& experts = std::get<moe_spec>(with_experts.blocks.at(1).part);
    BOOST_TEST(experts.router.renormalized, each);
    BOOST_TEST(experts.shared->gate == "ffn_gate_inp_shexp", each);
  }
  const auto lfm2 = spec_of("lfm2", {}, {"blk.1.shortconv.conv.weight"});
  BOOST_TEST(lfm2.blocks.at(0).prefix == "blk.0.");
  BOOST_TEST(lfm2.blocks.at(2).prefix == "blk.1.conv.");
  BOOST_TEST(lfm2.final_norm->name == "token_embd_norm");
  const auto moe =
      spec_of("lfm2moe", {entry_u32("lfm2moe.expert_count", 8), entry_u32("lfm2moe.leading_dense_block_count", 1)},
              {"blk.1.shortconv.conv.weight"});
  BOOST_TEST(mlp_of(moe).gate == "ffn_gate");
  BOOST_TEST(std::get<moe_spec>(moe.blocks.at(3).part).router.choice_bias == "exp_probs_b.bias");
  BOOST_TEST(moe.final_norm->name == "token_embd_norm");
}

BOOST_AUTO_TEST_CASE(a_hybrid_granite_has_mamba2_layers) {
  const auto with = [](bool rotates) {
    return spec_of("granitehybrid",
                   {entry_u32("granitehybrid.ssm.inner_size", 64), entry_u32("granitehybrid.ssm.time_step_rank", 4),
                    entry_bool("granitehybrid.rope.scaling.finetuned", rotates)},
                   {"blk.1.ssm_norm.weight", "blk.0.ffn_gate.weight"});
  };
  const auto spec = with(false);
  BOOST_TEST(!attention_of(spec).rope);
  BOOST_TEST(attention_of(with(true)).rope.has_value());
  BOOST_TEST(mlp_of(spec).gate == "ffn_gate");
  BOOST_TEST(mlp_of(spec).up == "ffn_up");
  BOOST_TEST(spec.blocks.at(2).prefix == "blk.1.mamba2.");
  BOOST_TEST(std::get<mamba2_spec>(spec.blocks.at(2).part).head_width == 16);
  const auto moe = spec_of("granitehybrid",
                           {entry_u32("granitehybrid.ssm.inner_size", 64), entry_u32("granitehybrid.expert_count", 4),
                            entry_u32("granitehybrid.ssm.time_step_rank", 4)},
                           {"blk.0.ssm_norm.weight"});
  const auto& experts = std::get<moe_spec>(moe.blocks.at(1).part);
  BOOST_TEST(moe.blocks.at(1).prefix == "blk.0.");
  BOOST_TEST(experts.expert.up == "ffn_up_exps");
  BOOST_TEST(experts.router.name == "ffn_gate_inp");
  BOOST_TEST(experts.shared->mlp.gate == "ffn_gate_shexp");
}

BOOST_AUTO_TEST_CASE(blocks_beside_each_other_belong_to_one_layer) {
  const auto spec =
      spec_of("falcon-h1", {entry_u32("falcon-h1.ssm.inner_size", 48), entry_u32("falcon-h1.ssm.time_step_rank", 4)});
  const names prefixes{"blk.0.mamba2.", "blk.0.", "blk.0.", "blk.1.mamba2.", "blk.1.", "blk.1."};
  names found;
  for (const auto& block : spec.blocks) found.push_back(block.prefix);
  BOOST_TEST(found == prefixes, boost::test_tools::per_element());
  BOOST_TEST(spec.blocks.at(4).pre_norm->name == "blk.1.attn_norm");
  BOOST_TEST(spec.blocks.at(5).pre_norm->name == "blk.1.bare.ffn_norm");
  BOOST_TEST((std::get<mamba2_spec>(spec.blocks.at(0).part).norm == mamba2_spec::norm_place::none));
}

BOOST_AUTO_TEST_CASE(layers_of_one_block_have_one_norm) {
  const auto spec =
      spec_of("nemotron_h_moe",
              {entry_u32("nemotron_h_moe.ssm.inner_size", 48), entry_u32("nemotron_h_moe.ssm.time_step_rank", 8),
               entry_u32("nemotron_h_moe.expert_count", 4)},
              {"blk.0.ffn_gate_inp.weight", "blk.1.ssm_in.weight"});
  BOOST_TEST(spec.blocks.at(0).prefix == "blk.0.");
  BOOST_TEST(spec.blocks.at(0).pre_norm->name == "blk.0.attn_norm");
  const auto& experts = std::get<moe_spec>(spec.blocks.at(0).part);
  BOOST_TEST(experts.expert.gate.empty());
  BOOST_TEST(experts.shared->mlp.up == "ffn_up_shexp");
  BOOST_TEST(spec.blocks.at(1).prefix == "blk.1.mamba2.");
  BOOST_TEST(std::get<mamba2_spec>(spec.blocks.at(1).part).head_width == 6);
  BOOST_TEST(std::get<mlp_spec>(spec_of("nemotron_h").blocks.at(1).part).up == "ffn_up");
}

BOOST_AUTO_TEST_CASE(an_olmo_with_a_window_is_the_third) {
  const auto kind = [](const model_spec& spec) { return attention_of(spec).kv.kind; };
  BOOST_TEST((kind(spec_of("olmo2")) == cache::layer_kind::sliding));
  BOOST_TEST((kind(spec_of("olmo2", {}, {}, 0)) == cache::layer_kind::full));
  const auto spec = spec_of("olmo2", {entry_f32("olmo2.rope.freq_base_swa", 60)});
  BOOST_TEST(attention_of(spec).rope.value().config.theta == 60);
}

BOOST_AUTO_TEST_CASE(a_llama_4_of_128_experts_has_no_norms_of_queries) {
  const auto described = [](std::uint32_t experts) {
    return spec_of("llama4", {entry_u32("llama4.expert_count", experts), entry_u32("llama4.expert_used_count", 1),
                              entry_u32("llama4.expert_feed_forward_length", 3),
                              entry_u32("llama4.interleave_moe_layer_step", 2)});
  };
  const auto spec = described(16);
  BOOST_TEST(attention_of(spec).qk_norm->q.empty());
  BOOST_TEST(!attention_of(described(128)).qk_norm);
  BOOST_TEST(std::holds_alternative<mlp_spec>(spec.blocks.at(1).part));
  const auto& experts = std::get<moe_spec>(spec.blocks.at(3).part);
  BOOST_TEST(experts.expert.gate == "ffn_gate_exps");
  BOOST_TEST(!experts.expert.transposed);
  BOOST_TEST(experts.expert.intermediate == 3);
}

BOOST_AUTO_TEST_CASE(a_t5_has_names_for_its_encoder_and_for_its_decoder) {
  const auto described = [](const std::vector<std::string>& tensors) {
    return spec_of("t5", {entry_u32("t5.attention.relative_buckets_count", 8), entry_u32("t5.decoder_block_count", 1)},
                   tensors);
  };
  const auto spec = described({"dec.blk.0.ffn_gate.weight"});
  BOOST_TEST(spec.encoder->blocks.size() == 4U);
  BOOST_TEST(spec.encoder->blocks.at(2).prefix == "enc.blk.1.");
  BOOST_TEST(spec.encoder->final_norm->name == "enc.output_norm");
  BOOST_REQUIRE_EQUAL(spec.blocks.size(), 3U);
  BOOST_TEST(attention_of(spec).relative_bias->name == "dec.blk.0.attn_rel_b");
  BOOST_TEST(spec.blocks.at(1).prefix == "dec.blk.0.cross_");
  BOOST_TEST(spec.blocks.at(1).pre_norm->name == "dec.blk.0.cross_attn_norm");
  BOOST_TEST(spec.blocks.at(2).pre_norm->name == "dec.blk.0.ffn_norm");
  BOOST_TEST(std::get<mlp_spec>(spec.blocks.at(2).part).gate == "ffn_gate");
  const auto ungated = described({});
  const auto& feeds = std::get<mlp_spec>(ungated.blocks.at(2).part);
  BOOST_TEST((feeds.gate.empty() && feeds.activation == kernels::activation::relu));
}

BOOST_AUTO_TEST_CASE(encoders_have_tables_of_positions_and_norms_behind_their_blocks) {
  const auto bert =
      spec_of("bert", {}, {"blk.0.attn_q.bias", "blk.0.attn_output.bias", "blk.0.ffn_up.bias", "token_types.weight"});
  BOOST_TEST(bert.embedding.positions->name == "position_embd");
  BOOST_TEST(bert.embedding.positions->types == "token_types");
  BOOST_TEST(bert.embedding.positions->type_count == 1);
  BOOST_TEST(bert.embedding.positions->offset == 0);
  BOOST_TEST(bert.embedding.norm->name == "token_embd_norm");
  BOOST_TEST(bert.blocks.at(2).post->name == "blk.1.attn_output_norm");
  BOOST_TEST(bert.blocks.at(3).post->name == "blk.1.layer_output_norm");
  BOOST_TEST(attention_of(bert).qkv == (names{"attn_q", "attn_k", "attn_v"}), boost::test_tools::per_element());
  BOOST_TEST((attention_of(bert).qkv_bias && attention_of(bert).output_bias && mlp_of(bert).bias));
  BOOST_TEST(!attention_of(bert).causal);
}

BOOST_AUTO_TEST_CASE(a_modern_bert_begins_with_a_layer_without_a_window) {
  const auto modern =
      spec_of("modern-bert", {entry_f32("modern-bert.rope.freq_base", 5000)}, {"blk.0.attn_qkv.weight"});
  BOOST_TEST(norms_of(modern, 0) == (names{"-", "-", "blk.0.ffn_norm", "-"}), boost::test_tools::per_element());
  BOOST_TEST(norms_of(modern, 1) == (names{"blk.1.attn_norm", "-", "blk.1.ffn_norm", "-"}),
             boost::test_tools::per_element());
  BOOST_TEST(attention_of(modern).qkv == names{"attn_qkv"}, boost::test_tools::per_element());
  BOOST_TEST(attention_of(modern).rope->config.theta == 5000);
  BOOST_TEST((attention_of(modern).kv.kind == cache::layer_kind::full));
  const auto& second = std::get<attention_spec>(modern.blocks.at(2).part);
  BOOST_TEST((second.kv.kind == cache::layer_kind::sliding));
  BOOST_TEST(second.kv.window == 7 / 2 + 1);
  BOOST_TEST(second.rope->config.theta == 10000);
  BOOST_TEST(mlp_of(modern).gate == "ffn_up");
  BOOST_TEST(modern.final_norm->name == "output_norm");
}

BOOST_AUTO_TEST_CASE(a_modern_bert_has_a_window) {
  BOOST_TEST(says(refused_pooling("modern-bert", {}),
                  "modern-bert.attention.sliding_window is missing; layers of sliding_attention need one"));
}

BOOST_AUTO_TEST_CASE(a_gemma_that_embeds_attends_both_ways) {
  const auto head = entry_u32("gemma-embedding.attention.key_length", 8);
  const auto gemma = spec_of("gemma-embedding", {head});
  BOOST_TEST(!attention_of(gemma).causal);
  BOOST_TEST(gemma.pooling.has_value());
  BOOST_TEST(attention_of(spec_of("gemma3", {entry_u32("gemma3.attention.key_length", 8)})).causal);
}

BOOST_AUTO_TEST_CASE(pooling_is_what_the_file_says) {
  using enum pooling_spec::kind;
  const auto type = [](const char* architecture, std::uint32_t number) {
    return entry_u32(std::string(architecture) + ".pooling_type", number);
  };
  BOOST_TEST((pooling_of("bert")->type == mean));
  BOOST_TEST((pooling_of("bert", {type("bert", 2)})->type == cls));
  BOOST_TEST((pooling_of("qwen3", {type("qwen3", 3)})->type == last));
  BOOST_TEST(pooling_of("qwen3", {type("qwen3", 3)})->normalize);
  BOOST_TEST(!pooling_of("qwen3"));
  BOOST_TEST(!pooling_of("qwen3", {type("qwen3", 0)}));
  BOOST_TEST(says(refused_pooling("bert", {type("bert", 5)}), "bert.pooling_type is 5; an integer from 0 to 4"));
  BOOST_TEST(says(refused_pooling("qwen3", {type("qwen3", 4)}), "decoders that score pairs are not read"));
  BOOST_TEST(says(refused_pooling("qwen3", {entry_bool("qwen3.attention.causal", false)}),
                  "decoders of this architecture are read as causal ones"));
}

BOOST_AUTO_TEST_CASE(a_classifier_is_shown_by_its_tensors) {
  const auto roberta = pooling_of("bert", {}, {"cls.weight", "cls.bias", "cls.output.weight", "cls.output.bias"});
  BOOST_TEST(roberta->scores);
  BOOST_TEST((roberta->type == pooling_spec::kind::cls));
  BOOST_TEST((roberta->dense.at(0).activation == dense_spec::function::tanh));
  BOOST_TEST(roberta->dense.at(1).name == "cls.output");
  BOOST_TEST(roberta->dense.at(1).outputs == 1);
  const auto modern = pooling_of("modern-bert", {entry_u32("modern-bert.attention.sliding_window", 8)},
                                 {"cls.weight", "cls.norm.weight", "cls.output.weight"});
  BOOST_TEST((modern->type == pooling_spec::kind::mean));
  BOOST_TEST((modern->dense.at(0).activation == dense_spec::function::gelu));
  BOOST_TEST(modern->dense.at(0).norm->name == "cls.norm");
  BOOST_TEST(!modern->dense.at(0).bias);
}

BOOST_AUTO_TEST_SUITE_END()
