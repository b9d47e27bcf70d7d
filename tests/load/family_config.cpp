#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/bart_fields.hpp"
#include "network/models/gemma3_fields.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/t5_fields.hpp"
#include "refusal.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

using namespace cogen::load;
using namespace cogen::models;

namespace {

using entries = std::vector<std::pair<std::string, std::string>>;

// The entries of `small` with some replaced, some more and, where the value is empty, some less.
config_fields config_of(entries small, const entries& more) {
  for (const auto& entry : more) {
    std::erase_if(small, [&](const auto& known) { return known.first == entry.first; });
    if (!entry.second.empty()) small.push_back(entry);
  }
  std::string text = "{";
  for (const auto& [key, value] : small) text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
  return config_fields::from_json(text + "}", "config.json");
}

config_fields mistral(const entries& more = {}) {
  return config_of({{"model_type", "\"mistral\""},
                    {"vocab_size", "128"},
                    {"hidden_size", "48"},
                    {"intermediate_size", "96"},
                    {"num_hidden_layers", "3"},
                    {"num_attention_heads", "16"},
                    {"head_dim", "6"}},
                   more);
}

config_fields gemma3(const entries& more = {}) {
  return config_of({{"model_type", "\"gemma3_text\""},
                    {"vocab_size", "128"},
                    {"hidden_size", "48"},
                    {"intermediate_size", "96"},
                    {"num_hidden_layers", "8"},
                    {"num_attention_heads", "8"},
                    {"head_dim", "12"}},
                   more);
}

config_fields bart(const entries& more = {}) {
  return config_of({{"model_type", "\"bart\""},
                    {"vocab_size", "128"},
                    {"d_model", "48"},
                    {"encoder_layers", "2"},
                    {"encoder_attention_heads", "4"},
                    {"encoder_ffn_dim", "80"},
                    {"decoder_layers", "3"},
                    {"decoder_attention_heads", "6"},
                    {"decoder_ffn_dim", "96"}},
                   more);
}

config_fields t5(const entries& more = {}) {
  return config_of({{"model_type", "\"t5\""},
                    {"vocab_size", "128"},
                    {"d_model", "48"},
                    {"d_ff", "96"},
                    {"num_layers", "3"},
                    {"num_heads", "5"}},
                   more);
}

config_fields mamba(const entries& more = {}) {
  return config_of(
      {{"model_type", "\"mamba\""}, {"vocab_size", "128"}, {"hidden_size", "40"}, {"num_hidden_layers", "3"}}, more);
}

config_fields jamba(const entries& more = {}) {
  return config_of({{"model_type", "\"jamba\""},
                    {"vocab_size", "128"},
                    {"hidden_size", "48"},
                    {"intermediate_size", "96"},
                    {"num_hidden_layers", "8"},
                    {"num_attention_heads", "8"}},
                   more);
}

gemma3_fields gemma3_only(const entries& more = {}) {
  const auto fields = gemma3(more);
  return read_gemma3_fields(fields, read_model_config(fields));
}

mamba_fields mamba_only(const entries& more = {}) {
  const auto fields = mamba(more);
  return read_mamba_fields(fields, read_model_config(fields));
}

jamba_fields jamba_only(const entries& more = {}) {
  const auto fields = jamba(more);
  return read_jamba_fields(fields, read_model_config(fields));
}

std::string family_refusal(const config_fields& fields) {
  return refusal([&] { read_model_config(fields); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(family_config)

BOOST_AUTO_TEST_CASE(a_mistral_has_its_defaults) {
  const auto config = read_model_config(mistral());
  BOOST_TEST(config.kv_heads == 8);
  BOOST_TEST(config.max_positions == 131072);
  BOOST_TEST(config.sliding_window.value() == 4096);
  BOOST_TEST(config.rope.theta == 10000.0);
  BOOST_TEST(!config.tie_embeddings);
}

BOOST_AUTO_TEST_CASE(null_means_none_where_a_missing_key_means_the_default) {
  BOOST_TEST(!read_model_config(mistral({{"sliding_window", "null"}})).sliding_window);
  BOOST_TEST(read_model_config(mistral({{"num_key_value_heads", "null"}})).kv_heads == 16);
}

BOOST_AUTO_TEST_CASE(a_mistral_in_both_spellings) {
  const auto published = read_model_config(mistral({{"rope_theta", "1000000.0"}, {"sliding_window", "12"}}));
  const auto today = read_model_config(
      mistral({{"rope_parameters", R"({"rope_theta":1000000.0,"rope_type":"default"})"}, {"sliding_window", "12"}}));
  for (const auto& config : {published, today}) {
    BOOST_TEST(config.rope.theta == 1e6);
    BOOST_TEST(config.rope.rotary_dim == 6);
    BOOST_TEST(config.sliding_window.value() == 12);
  }
  BOOST_TEST(!read_model_config(mistral({{"sliding_window", "0"}})).sliding_window);
  BOOST_TEST(says(family_refusal(mistral({{"sliding_window", "-1"}})), "sliding_window is -1; an integer from 0"));
  BOOST_TEST(says(family_refusal(mistral({{"num_attention_heads", "12"}})), "num_key_value_heads is missing; "));
}

// As Transformers 5.24 fills them in.
BOOST_AUTO_TEST_CASE(rotations_without_settings_have_the_family_s) {
  const auto rope_of = [](const char* family, const entries& more = {}) {
    auto values = more;
    values.emplace_back("model_type", fmt::format("\"{}\"", family));
    return read_model_config(mistral(values)).rope;
  };
  const auto yarn = rope_of("gpt_oss");
  BOOST_TEST((yarn.kind == rope_kind::yarn));
  BOOST_TEST(yarn.theta == 150000);
  BOOST_TEST(yarn.factor == 32);
  BOOST_TEST(yarn.original_positions == 4096);
  BOOST_TEST(!yarn.truncate);
  BOOST_TEST(rope_of("gpt_oss", {{"rope_theta", "7000"}}).theta == 7000);
  BOOST_TEST((rope_of("gpt_oss", {{"rope_parameters", R"({"rope_type":"default"})"}}).kind == rope_kind::standard));
  const auto llama3 = rope_of("apertus", {{"rope_scaling", "null"}});
  BOOST_TEST((llama3.kind == rope_kind::llama3));
  BOOST_TEST(llama3.theta == 12e6);
  BOOST_TEST(llama3.factor == 8);
  BOOST_TEST(llama3.original_positions == 8192);
  const auto grown = rope_of("ministral3");
  BOOST_TEST((grown.kind == rope_kind::yarn));
  BOOST_TEST(grown.theta == 1e6);
  BOOST_TEST(grown.factor == 16);
  BOOST_TEST(grown.original_positions == 16384);
  BOOST_TEST(rope_of("mistral4").factor == 128);
  BOOST_TEST(rope_of("mistral4").original_positions == 8192);
  BOOST_TEST((rope_of("gemma4_text").kind == rope_kind::listed));
  BOOST_TEST(rope_of("gemma4_text").theta == 1e6);
  BOOST_TEST(rope_of("olmo3").theta == 500000);
  BOOST_TEST(rope_of("cohere").theta == 500000);
  BOOST_TEST(rope_of("mistral").theta == 10000);
}

BOOST_AUTO_TEST_CASE(a_gemma3_has_its_defaults) {
  const auto config = read_model_config(gemma3({{"head_dim", ""}}));
  BOOST_TEST(config.head_dim == 256);
  BOOST_TEST(config.kv_heads == 4);
  BOOST_TEST(config.activation == "gelu_pytorch_tanh");
  BOOST_TEST(config.tie_embeddings);
  BOOST_TEST(config.rope.theta == 1e6);
  BOOST_TEST(config.sliding_window.value() == 4096);
  const auto gemma = gemma3_only();
  const std::vector<bool> slides{true, true, true, true, true, false, true, true};
  BOOST_TEST(gemma.slides == slides, boost::test_tools::per_element());
  BOOST_TEST(gemma.local.theta == 1e4);
  BOOST_TEST(gemma.query_scalar == 256.0);
  BOOST_TEST(gemma.logit_cap == 0.0);
  BOOST_TEST(gemma3_only({{"final_logit_softcapping", "30.0"}}).logit_cap == 30.0);
}

BOOST_AUTO_TEST_CASE(a_gemma3_in_both_spellings) {
  const entries published{{"rope_theta", "500000"},
                          {"rope_local_base_freq", "2000"},
                          {"rope_scaling", R"({"rope_type":"linear","factor":8.0})"},
                          {"sliding_window_pattern", "4"}};
  const entries today{{"rope_parameters",
                       R"({"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":500000},
                           "sliding_attention":{"rope_type":"default","rope_theta":2000}})"},
                      {"layer_types",
                       R"(["sliding_attention","sliding_attention","sliding_attention","full_attention",
                           "sliding_attention","sliding_attention","sliding_attention","full_attention"])"}};
  const std::vector<bool> slides{true, true, true, false, true, true, true, false};
  for (const auto& spelling : {published, today}) {
    const auto config = read_model_config(gemma3(spelling));
    const auto gemma = gemma3_only(spelling);
    BOOST_TEST((config.rope.kind == rope_kind::linear));
    BOOST_TEST(config.rope.factor == 8.0);
    BOOST_TEST(config.rope.theta == 500000.0);
    BOOST_TEST((gemma.local.kind == rope_kind::standard));
    BOOST_TEST(gemma.local.theta == 2000.0);
    BOOST_TEST(gemma.local.rotary_dim == 12);
    BOOST_TEST(gemma.slides == slides, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_a_gemma3_cannot_be_is_refused) {
  const auto refusal_with = [](const entries& more) { return refusal([&] { gemma3_only(more); }); };
  BOOST_TEST(says(refusal_with({{"sliding_window_pattern", "0"}}), "sliding_window_pattern is 0; an integer from 1"));
  BOOST_TEST(says(refusal_with({{"rope_local_base_freq", "-1"}}), "rope_local_base_freq is -1"));
  BOOST_TEST(says(refusal_with({{"query_pre_attn_scalar", "0"}}), "query_pre_attn_scalar is 0; a number from"));
  BOOST_TEST(says(refusal_with({{"final_logit_softcapping", "0"}}), "final_logit_softcapping is 0; a number from"));
  BOOST_TEST(says(refusal_with({{"sliding_window", "null"}}), "sliding_window is null; layers of sliding_attention"));
  BOOST_TEST(says(refusal_with({{"num_hidden_layers", "1"}, {"layer_types", R"(["chunked_attention"])"}}),
                  R"(layer_types is ["chunked_attention"]; 'sliding_attention' and)"));
}

BOOST_AUTO_TEST_CASE(a_bart_is_its_decoder_and_its_own_fields) {
  const auto fields = bart({{"scale_embedding", "true"}, {"decoder_start_token_id", "7"}});
  const auto config = read_model_config(fields);
  BOOST_TEST(config.hidden == 48);
  BOOST_TEST(config.layers == 3);
  BOOST_TEST(config.heads == 6);
  BOOST_TEST(config.kv_heads == 6);
  BOOST_TEST(config.head_dim == 8);
  BOOST_TEST(config.intermediate == 96);
  BOOST_TEST(config.max_positions == 1024);
  BOOST_TEST(config.rms_norm_eps == 1e-5);
  BOOST_TEST(config.activation == "gelu");
  BOOST_TEST(config.tie_embeddings);
  BOOST_TEST(config.rope.rotary_dim == 0);
  BOOST_TEST(config.decoder_start.value() == 7);
  BOOST_TEST(read_model_config(bart()).decoder_start.value() == 2);
  BOOST_TEST(!read_model_config(mistral()).decoder_start);
  const auto own = read_bart_fields(fields, config);
  BOOST_TEST(own.encoder_layers == 2);
  BOOST_TEST(own.encoder_heads == 4);
  BOOST_TEST(own.encoder_intermediate == 80);
  BOOST_TEST(own.scale_embedding);
}

BOOST_AUTO_TEST_CASE(a_t5_is_its_decoder_and_its_own_fields) {
  const auto first = t5(), gated = t5({{"num_decoder_layers", "2"},
                                       {"feed_forward_proj", "\"gated-gelu\""},
                                       {"tie_word_embeddings", "false"},
                                       {"d_kv", "7"}});
  const auto config = read_model_config(first), other = read_model_config(gated);
  BOOST_TEST(config.layers == 3);
  BOOST_TEST(other.layers == 2);
  BOOST_TEST(config.head_dim == 64);
  BOOST_TEST(other.head_dim == 7);
  BOOST_TEST(config.kv_heads == 5);
  BOOST_TEST(config.max_positions == unlimited_positions);
  BOOST_TEST(config.decoder_start.value() == 0);
  const auto first_fields = read_t5_fields(first, config), gated_fields = read_t5_fields(gated, other);
  BOOST_TEST(first_fields.activation == "relu");
  BOOST_TEST(!first_fields.gated);
  BOOST_TEST(first_fields.buckets == 32);
  BOOST_TEST(first_fields.max_distance == 128);
  BOOST_TEST(first_fields.scaled_head);
  BOOST_TEST(gated_fields.encoder_layers == 3);
  BOOST_TEST(gated_fields.activation == "gelu_new");
  BOOST_TEST(gated_fields.gated);
  BOOST_TEST(!gated_fields.scaled_head);
}

// As Transformers 5.24 reads files that say both.
BOOST_AUTO_TEST_CASE(a_t5_s_own_activation_and_gate_count_before_their_common_name) {
  const auto fields_of = [](const entries& more) {
    const auto fields = t5(more);
    return read_t5_fields(fields, read_model_config(fields));
  };
  const auto own = fields_of({{"feed_forward_proj", "\"gated-gelu\""}, {"dense_act_fn", "\"silu\""}});
  BOOST_TEST(own.activation == "silu");
  BOOST_TEST(own.gated);
  BOOST_TEST(!fields_of({{"feed_forward_proj", "\"gated-gelu\""}, {"is_gated_act", "false"}}).gated);
}

BOOST_AUTO_TEST_CASE(what_a_t5_cannot_be_is_refused) {
  const auto refusal_with = [](const entries& more) {
    return refusal([&] {
      const auto fields = t5(more);
      read_t5_fields(fields, read_model_config(fields));
    });
  };
  BOOST_TEST(says(refusal_with({{"num_layers", "0"}}), "num_layers is 0"));
  BOOST_TEST(
      says(refusal_with({{"feed_forward_proj", "\"gated-tanh\""}}), "'relu', 'gelu', 'gelu_new' and 'silu' are"));
  BOOST_TEST(says(refusal_with({{"dense_act_fn", "\"tanh\""}}), "dense_act_fn is \"tanh\"; 'relu', 'gelu',"));
  BOOST_TEST(says(refusal_with({{"relative_attention_num_buckets", "10"}}), "it must be a multiple of 4"));
  BOOST_TEST(says(refusal_with({{"relative_attention_max_distance", "16"}}), "more than half of the 32 buckets"));
}

BOOST_AUTO_TEST_CASE(what_a_bart_cannot_be_is_refused) {
  const auto refusal_with = [](const entries& more) {
    return refusal([&] {
      const auto fields = bart(more);
      read_bart_fields(fields, read_model_config(fields));
    });
  };
  BOOST_TEST(says(refusal_with({{"d_model", ""}, {"decoder_attention_heads", "5"}}),
                  "decoder_attention_heads is 5; d_model = 1024 must be a multiple of it"));
  BOOST_TEST(says(refusal_with({{"decoder_layers", "1000000000"}}), "decoder_layers is 1000000000; an integer from 1"));
  BOOST_TEST(says(refusal_with({{"encoder_layers", "0"}}), "encoder_layers is 0"));
  BOOST_TEST(says(refusal_with({{"decoder_attention_heads", "5"}}),
                  "decoder_attention_heads is 5; d_model = 48 must be a multiple of it"));
  BOOST_TEST(says(refusal_with({{"encoder_attention_heads", "5"}}),
                  "encoder_attention_heads is 5; d_model = 48 must be a multiple of it"));
  BOOST_TEST(says(refusal_with({{"encoder_ffn_dim", "-1"}}), "encoder_ffn_dim is -1"));
  BOOST_TEST(says(refusal_with({{"decoder_start_token_id", "128"}}), "decoder_start_token_id is 128"));
}

BOOST_AUTO_TEST_CASE(a_mamba_has_no_attention_and_no_end) {
  const auto config = read_model_config(mamba());
  BOOST_TEST(config.hidden == 40);
  BOOST_TEST(config.layers == 3);
  BOOST_TEST(config.heads == 0);
  BOOST_TEST(config.kv_heads == 0);
  BOOST_TEST(config.head_dim == 0);
  BOOST_TEST(config.intermediate == 0);
  BOOST_TEST(config.rope.rotary_dim == 0);
  BOOST_TEST(config.max_positions == unlimited_positions);
  BOOST_TEST(config.rms_norm_eps == 1e-5);
  BOOST_TEST(config.tie_embeddings);
  BOOST_TEST(read_model_config(mamba({{"layer_norm_epsilon", "0.001"}})).rms_norm_eps == 0.001);
}

BOOST_AUTO_TEST_CASE(a_mambas_mixer_is_read) {
  const auto least = mamba_only();
  BOOST_TEST(least.inner == 80);
  BOOST_TEST(least.state == 16);
  BOOST_TEST(least.convolution == 4);
  BOOST_TEST(least.time_step_rank == 3);  // 40 / 16, rounded up
  BOOST_TEST(!least.bias);
  BOOST_TEST(least.convolution_bias);
  const auto given = mamba_only({{"expand", "3"},
                                 {"state_size", "8"},
                                 {"conv_kernel", "5"},
                                 {"time_step_rank", "7"},
                                 {"use_bias", "true"},
                                 {"use_conv_bias", "false"}});
  BOOST_TEST(given.inner == 120);
  BOOST_TEST(given.state == 8);
  BOOST_TEST(given.convolution == 5);
  BOOST_TEST(given.time_step_rank == 7);
  BOOST_TEST(given.bias);
  BOOST_TEST(!given.convolution_bias);
  BOOST_TEST(mamba_only({{"intermediate_size", "96"}}).inner == 80);
  BOOST_TEST(mamba_only({{"time_step_rank", "\"auto\""}}).time_step_rank == 3);
}

BOOST_AUTO_TEST_CASE(what_a_mamba_cannot_be_is_refused) {
  const auto refusal_with = [](const entries& more) { return refusal([&] { mamba_only(more); }); };
  BOOST_TEST(says(refusal_with({{"state_size", "0"}}), "state_size is 0; an integer from 1"));
  BOOST_TEST(says(refusal_with({{"conv_kernel", "1e9"}}), "conv_kernel is 1000000000"));
  BOOST_TEST(says(refusal_with({{"expand", "2.5"}}), "expand is 2.5; an integer from 1"));
  BOOST_TEST(says(refusal_with({{"hidden_size", "1048576"}, {"expand", "1024"}}), "expand is 1024; it makes"));
  BOOST_TEST(says(refusal_with({{"time_step_rank", "\"some\""}}), "time_step_rank is \"some\"; an integer from 1"));
  BOOST_TEST(says(refusal_with({{"layer_norm_epsilon", "-1"}}), "layer_norm_epsilon is -1"));
}

BOOST_AUTO_TEST_CASE(a_jamba_has_its_defaults) {
  const auto config = read_model_config(jamba());
  BOOST_TEST(config.kv_heads == 8);
  BOOST_TEST(config.max_positions == 262144);
  BOOST_TEST(config.rope.rotary_dim == 0);
  const auto own = jamba_only();
  BOOST_TEST(own.attention_period == 8);
  BOOST_TEST(own.attention_offset == 4);
  BOOST_TEST(own.expert_period == 2);
  BOOST_TEST(own.expert_offset == 1);
  BOOST_TEST(own.experts == 16);
  BOOST_TEST(own.experts_per_token == 2);
  BOOST_TEST(own.mamba.inner == 96);
  BOOST_TEST(own.mamba.time_step_rank == 3);
}

BOOST_AUTO_TEST_CASE(a_jambas_own_values_are_read) {
  const auto own = jamba_only({{"attn_layer_period", "4"},
                               {"attn_layer_offset", "0"},
                               {"num_local_experts", "3"},
                               {"num_experts_per_tok", "1"},
                               {"mamba_d_state", "6"},
                               {"mamba_d_conv", "3"},
                               {"mamba_dt_rank", "5"},
                               {"mamba_proj_bias", "true"}});
  BOOST_TEST(own.attention_period == 4);
  BOOST_TEST(own.attention_offset == 0);
  BOOST_TEST(own.experts == 3);
  BOOST_TEST(own.experts_per_token == 1);
  BOOST_TEST(own.mamba.state == 6);
  BOOST_TEST(own.mamba.convolution == 3);
  BOOST_TEST(own.mamba.time_step_rank == 5);
  BOOST_TEST(own.mamba.bias);
}

BOOST_AUTO_TEST_CASE(what_a_jamba_cannot_be_is_refused) {
  const auto refusal_with = [](const entries& more) { return refusal([&] { jamba_only(more); }); };
  BOOST_TEST(says(refusal_with({{"attn_layer_offset", "8"}}), "attn_layer_offset is 8; it must be below the period 8"));
  BOOST_TEST(says(refusal_with({{"expert_layer_period", "0"}}), "expert_layer_period is 0"));
  BOOST_TEST(says(refusal_with({{"num_experts", "1000000"}}), "num_experts is 1000000"));
  BOOST_TEST(says(refusal_with({{"num_experts_per_tok", "17"}}), "num_experts_per_tok is 17; an integer from 1 to 16"));
  BOOST_TEST(says(refusal_with({{"mamba_d_state", "-1"}}), "mamba_d_state is -1"));
}

BOOST_AUTO_TEST_SUITE_END()
