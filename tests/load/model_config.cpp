#include "../test_data.hpp"
#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "formats/checkpoint/rope_config.hpp"
#include "gguf_draft.hpp"
#include "memory_file.hpp"
#include "refusal.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace cogen::load;

namespace {

using tokens = std::vector<cogen::token>;

std::string data_file(const std::string& name) {
  std::ifstream file(cogen::test::test_data() / "load/data" / name, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(file.good(), name);
  return {std::istreambuf_iterator<char>(file), {}};
}

model_config read(std::string_view text) { return read_model_config(config_fields::from_json(text, "config.json")); }

// A small Llama's config.json with some more fields; a field given twice is the later one.
std::string llama(std::vector<std::pair<std::string, std::string>> more = {}) {
  std::vector<std::pair<std::string, std::string>> fields{{"model_type", "\"llama\""}, {"vocab_size", "128"},
                                                          {"hidden_size", "48"},       {"intermediate_size", "96"},
                                                          {"num_hidden_layers", "3"},  {"num_attention_heads", "6"}};
  for (auto& field : more) {
    std::erase_if(fields, [&](const auto& known) { return known.first == field.first; });
    if (!field.second.empty()) fields.push_back(std::move(field));
  }
  std::string text = "{";
  for (const auto& [key, value] : fields) text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
  return text + "}";
}

std::string config_refusal(std::vector<std::pair<std::string, std::string>> more) {
  return refusal([&] { read(llama(std::move(more))); });
}

model_config read_gguf(std::vector<std::string> more, std::uint32_t heads = 6) {
  gguf_draft draft;
  draft.entries = {entry_text("general.architecture", "llama"),    entry_u32("llama.block_count", 3),
                   entry_u32("llama.embedding_length", 48),        entry_u32("llama.feed_forward_length", 96),
                   entry_u32("llama.attention.head_count", heads), entry_u32("llama.context_length", 256)};
  draft.entries.insert(draft.entries.end(), more.begin(), more.end());
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  return read_model_config(config_fields::from_gguf(file));
}

std::string refusal_of_gguf(std::vector<std::string> more) {
  return refusal([&] { read_gguf(std::move(more)); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model_config_files)

BOOST_AUTO_TEST_CASE(a_config_of_transformers_today_is_read) {
  const auto config = read(data_file("config_default.json"));
  BOOST_TEST(config.family == "llama");
  BOOST_TEST(config.vocabulary == 128);
  BOOST_TEST(config.hidden == 48);
  BOOST_TEST(config.layers == 3);
  BOOST_TEST(config.heads == 6);
  BOOST_TEST(config.kv_heads == 2);
  BOOST_TEST(config.head_dim == 10);
  BOOST_TEST(config.intermediate == 96);
  BOOST_TEST(config.max_positions == 256);
  BOOST_TEST(config.rms_norm_eps == 1e-5);
  BOOST_TEST(config.activation == "silu");
  BOOST_TEST(!config.attention_bias);
  BOOST_TEST(!config.mlp_bias);
  BOOST_TEST(!config.tie_embeddings);
  BOOST_TEST(config.bos.value() == 1);
  BOOST_TEST(config.eos == (tokens{2, 5}), boost::test_tools::per_element());
  BOOST_TEST(!config.pad);
  BOOST_TEST((config.rope.kind == rope_kind::standard));
  BOOST_TEST(config.rope.theta == 5000.0);
  BOOST_TEST(config.rope.rotary_dim == 10);
}

BOOST_AUTO_TEST_CASE(rotary_variants_of_transformers_today_are_read) {
  const auto linear = read(data_file("config_linear.json"));
  BOOST_TEST((linear.rope.kind == rope_kind::linear));
  BOOST_TEST(linear.rope.factor == 4.0);
  BOOST_TEST(linear.attention_bias);
  const auto llama3 = read(data_file("config_llama3.json"));
  BOOST_TEST((llama3.rope.kind == rope_kind::llama3));
  BOOST_TEST(llama3.rope.factor == 8.0);
  BOOST_TEST(llama3.rope.low_freq_factor == 1.0);
  BOOST_TEST(llama3.rope.high_freq_factor == 4.0);
  BOOST_TEST(llama3.rope.original_positions == 64);
  const auto yarn = read(data_file("config_yarn.json"));
  BOOST_TEST((yarn.rope.kind == rope_kind::yarn));
  BOOST_TEST(yarn.rope.factor == 4.0);
  BOOST_TEST(yarn.rope.original_positions == 64);
  BOOST_TEST(yarn.rope.beta_fast == 24.0);
  BOOST_TEST(yarn.rope.beta_slow == 2.0);
  BOOST_TEST(yarn.rope.truncate);
  BOOST_TEST(!yarn.rope.attention_factor);
  BOOST_TEST(!yarn.rope.mscale);
  BOOST_TEST(yarn.tie_embeddings);
}

BOOST_AUTO_TEST_CASE(published_configs_say_rope_theta_and_rope_scaling) {
  const auto plain = read(llama({{"rope_theta", "500000.0"}, {"rope_scaling", "null"}}));
  BOOST_TEST((plain.rope.kind == rope_kind::standard));
  BOOST_TEST(plain.rope.theta == 500000.0);
  const auto linear = read(llama({{"rope_theta", "7000"}, {"rope_scaling", R"({"type":"linear","factor":2})"}}));
  BOOST_TEST((linear.rope.kind == rope_kind::linear));
  BOOST_TEST(linear.rope.theta == 7000.0);
  BOOST_TEST(linear.rope.factor == 2.0);
  const auto llama3 = read(llama(
      {{"rope_theta", "500000.0"}, {"rope_scaling", R"({"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,
                                    "original_max_position_embeddings":8192,"rope_type":"llama3"})"}}));
  BOOST_TEST((llama3.rope.kind == rope_kind::llama3));
  BOOST_TEST(llama3.rope.theta == 500000.0);
  BOOST_TEST(llama3.rope.factor == 32.0);
  BOOST_TEST(llama3.rope.original_positions == 8192);
  const auto yarn = read(llama({{"max_position_embeddings", "512"},
                                {"rope_scaling", R"({"type":"yarn","original_max_position_embeddings":128,"mscale":0.7,
                                  "mscale_all_dim":1.0,"attention_factor":1.25,"truncate":false})"}}));
  BOOST_TEST((yarn.rope.kind == rope_kind::yarn));
  BOOST_TEST(yarn.rope.factor == 4.0);
  BOOST_TEST(yarn.rope.mscale.value() == 0.7);
  BOOST_TEST(yarn.rope.mscale_all_dim.value() == 1.0);
  BOOST_TEST(yarn.rope.attention_factor.value() == 1.25);
  BOOST_TEST(!yarn.rope.truncate);
  const auto longrope = read(llama({{"rope_scaling", R"({"type":"longrope","short_factor":[1,1,1,1],
                                    "long_factor":[2,2,2,2],"short_mscale":1.2,"long_mscale":1.3})"}}));
  BOOST_TEST(longrope.rope.attention_factor.value() == 1.2);
  BOOST_TEST(longrope.rope.long_attention_factor.value() == 1.3);
  const auto dynamic = read(llama({{"rope_theta", "7000"}, {"rope_scaling", R"({"type":"dynamic","factor":2})"}}));
  BOOST_TEST((dynamic.rope.kind == rope_kind::standard));
  BOOST_TEST(dynamic.rope.theta == 7000.0);
}

BOOST_AUTO_TEST_CASE(the_original_length_is_where_transformers_looks_for_it) {
  const std::string scaling = R"({"rope_type":"yarn","factor":2.0)";
  const auto inner = read(llama({{"rope_scaling", scaling + R"(,"original_max_position_embeddings":64})"}}));
  BOOST_TEST(inner.rope.original_positions == 64);
  const std::string both = scaling + R"(,"original_max_position_embeddings":64})";
  const auto outer = read(llama({{"rope_scaling", both}, {"original_max_position_embeddings", "32"}}));
  BOOST_TEST(outer.rope.original_positions == 64);
  const auto phi3 =
      read(llama({{"model_type", R"("phi3")"}, {"rope_scaling", both}, {"original_max_position_embeddings", "32"}}));
  BOOST_TEST(phi3.rope.original_positions == 32);
  BOOST_TEST(read(llama({{"model_type", R"("phi3")"}, {"rope_scaling", both}})).rope.original_positions == 4096);
  const auto none = read(llama({{"rope_scaling", scaling + "}"}, {"max_position_embeddings", "512"}}));
  BOOST_TEST(none.rope.original_positions == 512);
  const auto linear =
      read(llama({{"rope_scaling", R"({"rope_type":"linear","factor":2.0,"original_max_position_embeddings":64})"}}));
  BOOST_TEST(linear.rope.original_positions == 64);
}

BOOST_AUTO_TEST_CASE(a_rotation_for_each_type_of_layer_is_read) {
  const auto text =
      llama({{"rope_parameters", R"({"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":1000000.0},
                             "sliding_attention":{"rope_type":"default","rope_theta":10000.0}})"},
             {"layer_types", R"(["sliding_attention","full_attention","sliding_attention"])"},
             {"sliding_window", "16"}});
  const auto config = read(text);
  BOOST_TEST((config.rope.kind == rope_kind::linear));
  BOOST_TEST(config.rope.theta == 1000000.0);
  BOOST_TEST(config.layer_types[1] == "full_attention");
  BOOST_TEST(config.sliding_window.value() == 16);
  const auto sliding =
      read_rope_config(config_fields::from_json(text, "config.json"), "rope_parameters.sliding_attention", config);
  BOOST_TEST((sliding.kind == rope_kind::standard));
  BOOST_TEST(sliding.theta == 10000.0);
}

BOOST_AUTO_TEST_CASE(what_a_config_leaves_out_has_transformers_defaults) {
  const auto config = read(llama());
  BOOST_TEST(config.kv_heads == 6);
  BOOST_TEST(config.head_dim == 8);
  BOOST_TEST(config.max_positions == 2048);
  BOOST_TEST(config.rms_norm_eps == 1e-6);
  BOOST_TEST(config.rope.theta == 10000.0);
  BOOST_TEST(config.rope.rotary_dim == 8);
  BOOST_TEST(!config.tie_embeddings);
  BOOST_TEST(config.eos == tokens{2}, boost::test_tools::per_element());
  BOOST_TEST(!config.sliding_window);
  BOOST_TEST(config.layer_types.empty());
}

BOOST_AUTO_TEST_CASE(a_list_for_one_layer_is_a_list) {
  BOOST_TEST(read(llama({{"intermediate_size", "[96]"}})).intermediate == 96);
  const auto heads = entry_array("llama.attention.head_count_kv", 5, 1, raw(std::int32_t{2}));
  BOOST_TEST(read_gguf({entry_u32("llama.vocab_size", 128), heads}).kv_heads == 2);
}

BOOST_AUTO_TEST_CASE(a_part_of_each_head_may_be_rotated) {
  const auto phi3 = [](const char* key, const char* value) {
    return llama({{"model_type", "\"phi3\""}, {key, value}});
  };
  BOOST_TEST(read(phi3("partial_rotary_factor", "0.5")).rope.rotary_dim == 4);
  BOOST_TEST(read(phi3("rope_parameters", R"({"partial_rotary_factor":0.25})")).rope.rotary_dim == 2);
  BOOST_TEST(read(llama({{"head_dim", "7"}})).rope.rotary_dim == 7);  // no layer may rotate
  BOOST_TEST(says(refusal([&] { read(phi3("partial_rotary_factor", "1.5")); }),
                  "partial_rotary_factor is 1.5; a number from"));
}

BOOST_AUTO_TEST_CASE(a_share_of_a_head_is_what_its_digits_mean) {
  for (int dim = 2; dim <= 96; ++dim)
    for (int rotated = 1; rotated < dim; ++rotated) {
      const auto share = fmt::format("{}", static_cast<double>(rotated) / dim);
      const auto phi3 = llama({{"model_type", "\"phi3\""},
                               {"num_attention_heads", "1"},
                               {"hidden_size", std::to_string(dim)},
                               {"partial_rotary_factor", share}});
      BOOST_REQUIRE_EQUAL(read(phi3).rope.rotary_dim, rotated);
    }
}

BOOST_AUTO_TEST_CASE(heads_that_rotate_as_a_whole_do_so_whatever_the_file_says) {
  BOOST_TEST(read(llama({{"partial_rotary_factor", "0.5"}})).rope.rotary_dim == 8);
  BOOST_TEST(
      says(config_refusal({{"partial_rotary_factor", "0.5"}, {"rope_scaling", R"({"type":"linear","factor":2})"}}),
           "partial_rotary_factor is 0.5; heads of this model rotate as a whole"));
}

BOOST_AUTO_TEST_CASE(generation_config_has_the_last_word_on_end_tokens) {
  auto config = read(llama({{"eos_token_id", "3"}}));
  read_generation_config(config_fields::from_json(R"({"temperature":0.6})", "generation_config.json"), config);
  BOOST_TEST(config.eos == tokens{3}, boost::test_tools::per_element());
  read_generation_config(config_fields::from_json(R"({"eos_token_id":[7,9,3]})", "generation_config.json"), config);
  BOOST_TEST(config.eos == (tokens{7, 9, 3}), boost::test_tools::per_element());
  read_generation_config(config_fields::from_json(R"({"eos_token_id":128})", "generation_config.json"), config);
  BOOST_TEST(config.eos.empty());
}

BOOST_AUTO_TEST_CASE(token_ids_beyond_the_vocabulary_are_never_seen) {
  BOOST_TEST(read(llama({{"pad_token_id", "-1"}})).pad.has_value() == false);
  BOOST_TEST(read(llama({{"pad_token_id", "127"}})).pad.value() == 127);
  BOOST_TEST(!read(llama({{"pad_token_id", "128"}})).pad);
  BOOST_TEST(!read(llama({{"bos_token_id", "50256"}})).bos);
  BOOST_TEST(!read(llama({{"bos_token_id", "-1"}})).bos);
  BOOST_TEST(says(config_refusal({{"eos_token_id", "[1,2.5]"}}), "eos_token_id is [1,2.5"));
}

// They are never sampled.
BOOST_AUTO_TEST_CASE(end_tokens_outside_the_vocabulary_are_left_out) {
  const auto config = read(llama({{"eos_token_id", "[1,4294967297,128,-1,127,1]"}}));
  BOOST_TEST(config.eos == (tokens{1, 127}), boost::test_tools::per_element());
  const auto gguf = read_gguf({entry_u32("llama.vocab_size", 128), entry_u32("tokenizer.ggml.eos_token_id", 128),
                               entry_u32("tokenizer.ggml.eot_token_id", 7)});
  BOOST_TEST(gguf.eos == tokens{7}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sizes_out_of_range_name_key_value_and_limit) {
  BOOST_TEST(config_refusal({{"num_attention_heads", "0"}}) ==
             "config.json: num_attention_heads is 0; an integer from 1 to 16384 is allowed");
  BOOST_TEST(says(config_refusal({{"num_attention_heads", "-6"}}), "num_attention_heads is -6"));
  BOOST_TEST(says(config_refusal({{"num_attention_heads", "7"}}),
                  "num_attention_heads is 7; hidden_size = 48 must be a multiple"));
  BOOST_TEST(read(llama({{"num_attention_heads", "7"}, {"head_dim", "4"}})).head_dim == 4);
  BOOST_TEST(says(config_refusal({{"num_key_value_heads", "4"}}), "num_key_value_heads is 4; num_attention_heads = 6"));
  BOOST_TEST(says(config_refusal({{"num_key_value_heads", "12"}}), "num_key_value_heads is 12"));
  BOOST_TEST(says(config_refusal({{"num_hidden_layers", "1000000000"}}),
                  "num_hidden_layers is 1000000000; an integer from 1 to 4096"));
  BOOST_TEST(says(config_refusal({{"hidden_size", "1e18"}}), "hidden_size is 1000000000000000000"));
  BOOST_TEST(
      says(config_refusal({{"vocab_size", "99999999"}}), "vocab_size is 99999999; an integer from 1 to 16777216"));
  BOOST_TEST(read(llama({{"vocab_size", ""}})).vocabulary == 32000);
  BOOST_TEST(says(config_refusal({{"model_type", "\"kimi_k2\""}, {"vocab_size", ""}}), "vocab_size is missing"));
  BOOST_TEST(says(config_refusal({{"intermediate_size", "\"96\""}}), "intermediate_size is \"96\""));
  BOOST_TEST(
      says(config_refusal({{"max_position_embeddings", "2147483648"}}), "max_position_embeddings is 2147483648"));
  BOOST_TEST(says(config_refusal({{"head_dim", "100000"}}), "head_dim is 100000"));
  BOOST_TEST(says(config_refusal({{"rms_norm_eps", "0"}}), "rms_norm_eps is 0"));
  BOOST_TEST(says(config_refusal({{"rms_norm_eps", R"({"__float__":"NaN"})"}}), "rms_norm_eps is"));
  BOOST_TEST(says(config_refusal({{"attention_bias", "1"}}), "attention_bias is 1; true or false"));
  BOOST_TEST(
      says(config_refusal({{"layer_types", R"(["full_attention"])"}}), "it must name num_hidden_layers = 3 layers"));
  BOOST_TEST(says(config_refusal({{"sliding_window", "-1"}}), "sliding_window is -1"));
}

BOOST_AUTO_TEST_CASE(wrong_rotations_are_refused) {
  BOOST_TEST(says(config_refusal({{"rope_theta", "0"}}), "rope_theta is 0; a number from 1"));
  BOOST_TEST(says(config_refusal({{"rope_theta", R"({"__float__":"NaN"})"}}), "rope_theta is"));
  BOOST_TEST(says(config_refusal({{"rope_theta", R"({"__float__":"Infinity"})"}}), "rope_theta is"));
  BOOST_TEST(says(config_refusal({{"rope_scaling", R"({"rope_type":"ntk"})"}}),
                  R"(rope_scaling.rope_type is "ntk"; 'default', 'linear', 'dynamic', 'llama3', 'yarn', 'longrope' )"
                  "and 'proportional' are known"));
  BOOST_TEST(says(config_refusal({{"rope_scaling", R"({"type":"linear"})"}}), "rope_scaling.factor is missing"));
  BOOST_TEST(says(config_refusal({{"rope_scaling", R"({"type":"linear","factor":0})"}}), "rope_scaling.factor is 0"));
  BOOST_TEST(says(config_refusal({{"rope_scaling", R"({"type":"yarn","factor":2,"beta_fast":1,"beta_slow":2})"}}),
                  "rope_scaling.beta_fast is 1; it must not be below beta_slow = 2"));
  BOOST_TEST(says(config_refusal({{"rope_scaling", R"({"type":"yarn","factor":2,"attention_factor":-1})"}}),
                  "attention_factor is -1"));
  BOOST_TEST(says(config_refusal({{"rope_parameters",
                                   R"({"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":3})"}}),
                  "rope_parameters.high_freq_factor is 3; it must not be below low_freq_factor = 4"));
  BOOST_TEST(says(config_refusal({{"rope_scaling", R"({"type":"longrope","short_factor":[1,1,1,1],
                                  "long_factor":[2,2,2,2],"short_mscale":1.2,"long_mscale":-1})"}}),
                  "rope_scaling.long_mscale is -1"));
}

BOOST_AUTO_TEST_CASE(gguf_metadata_are_read) {
  const auto config =
      read_gguf({entry_u32("llama.vocab_size", 128), entry_u32("llama.attention.head_count_kv", 2),
                 entry_f32("llama.attention.layer_norm_rms_epsilon", 1e-5F), entry_f32("llama.rope.freq_base", 100000),
                 entry_u32("llama.rope.dimension_count", 8), entry_u32("tokenizer.ggml.bos_token_id", 1),
                 entry_u32("tokenizer.ggml.eos_token_id", 2), entry_u32("tokenizer.ggml.eot_token_id", 7),
                 entry_u32("tokenizer.ggml.eom_token_id", 2), entry_u32("tokenizer.ggml.padding_token_id", 2)});
  BOOST_TEST(config.vocabulary == 128);
  BOOST_TEST(config.hidden == 48);
  BOOST_TEST(config.layers == 3);
  BOOST_TEST(config.heads == 6);
  BOOST_TEST(config.kv_heads == 2);
  BOOST_TEST(config.head_dim == 8);
  BOOST_TEST(config.max_positions == 256);
  BOOST_TEST(static_cast<float>(config.rms_norm_eps) == 1e-5F);
  BOOST_TEST(config.rope.theta == 100000.0);
  BOOST_TEST(config.rope.rotary_dim == 8);
  BOOST_TEST(config.bos.value() == 1);
  BOOST_TEST(config.eos == (tokens{2, 7}), boost::test_tools::per_element());
  BOOST_TEST(config.pad.value() == 2);
}

BOOST_AUTO_TEST_CASE(a_gguf_file_may_leave_the_vocabulary_to_its_tokens) {
  BOOST_TEST(read_gguf({entry_texts("tokenizer.ggml.tokens", {"a", "b", "c"})}).vocabulary == 3);
  BOOST_TEST(says(refusal_of_gguf({}), "llama.vocab_size is missing"));
}

BOOST_AUTO_TEST_CASE(gguf_rotations_are_read) {
  const auto vocabulary = entry_u32("llama.vocab_size", 128);
  const auto linear = read_gguf(
      {vocabulary, entry_text("llama.rope.scaling.type", "linear"), entry_f32("llama.rope.scaling.factor", 4)});
  BOOST_TEST((linear.rope.kind == rope_kind::linear));
  BOOST_TEST(linear.rope.factor == 4.0);
  const auto older = read_gguf({vocabulary, entry_f32("llama.rope.scale_linear", 2)});
  BOOST_TEST((older.rope.kind == rope_kind::linear));
  BOOST_TEST(older.rope.factor == 2.0);
  const auto yarn = read_gguf(
      {vocabulary, entry_text("llama.rope.scaling.type", "yarn"), entry_f32("llama.rope.scaling.factor", 4),
       entry_u32("llama.rope.scaling.original_context_length", 64), entry_f32("llama.rope.scaling.attn_factor", 0.5F)});
  BOOST_TEST((yarn.rope.kind == rope_kind::yarn));
  BOOST_TEST(yarn.rope.original_positions == 64);
  BOOST_TEST(yarn.rope.attention_factor.value() == 0.5 * (0.1 * std::log(4.0) + 1));
  BOOST_TEST(says(refusal_of_gguf({vocabulary, entry_text("llama.rope.scaling.type", "su")}),
                  "llama.rope.scaling.type is 'su'; 'none', 'linear', 'yarn' and 'longrope' are known"));
  BOOST_TEST(
      says(refusal_of_gguf({vocabulary, entry_f32("llama.rope.freq_base", NAN)}), "llama.rope.freq_base is nan"));
  BOOST_TEST(
      says(refusal_of_gguf({vocabulary, entry_u32("llama.rope.dimension_count", 10)}), "rope.dimension_count is 10"));
  BOOST_TEST(read_gguf({vocabulary, entry_u32("llama.rope.dimension_count", 5)}).rope.rotary_dim == 5);
}

BOOST_AUTO_TEST_SUITE_END()
