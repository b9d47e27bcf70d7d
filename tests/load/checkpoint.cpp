#include "memory_file.hpp"
#include "refusal.hpp"
#include "safetensors_draft.hpp"
#include "temporary_folder.hpp"
#include "tiny_model.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <sys/stat.h>

using namespace cogen::load;

namespace {

constexpr const char* small_config =
    R"({"model_type":"llama","vocab_size":4,"hidden_size":2,"intermediate_size":3,"num_hidden_layers":1,)"
    R"("num_attention_heads":1,"eos_token_id":1})";

void write_hugging_face_model(const temporary_folder& folder) {
  folder.write("config.json", small_config);
  const auto header = "{" + tensor_entry("model.embed_tokens.weight", "F32", "4,2", 0, 32) + "," +
                      tensor_entry("model.norm.weight", "F32", "2", 32, 40) + "," +
                      tensor_entry("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", "1", 40, 44) + "," +
                      tensor_entry("model.layers.0.self_attn.q_proj.weight", "F32", "2,2", 44, 60) + "}";
  folder.write("model.safetensors", safetensors_bytes(header, counting_floats(15)));
}

std::string checkpoint_refusal(const std::filesystem::path& path) {
  return refusal([&] { checkpoint opened(path); });
}

std::vector<float> floats(const weight& w, std::int64_t first, std::int64_t last) {
  std::vector<float> values(static_cast<std::size_t>((last - first) * w.columns()));
  w.read_rows_as_float(first, last, values);
  return values;
}

// In tiny_llama() row r of a matrix with 8 columns begins with 8 r: the rows' positions in the file.
std::vector<int> stored_rows(const weight& w, std::int64_t first, std::int64_t last) {
  const auto values = floats(w, first, last);
  std::vector<int> rows;
  for (std::size_t i = 0; i < values.size(); i += 8) rows.push_back(static_cast<int>(values[i]) / 8);
  return rows;
}

gguf_draft without(gguf_draft draft, std::string_view key) {
  std::erase_if(draft.entries, [&](const std::string& written) { return written.find(key) != written.npos; });
  return draft;
}

gguf_draft with(gguf_draft draft, std::string_view key, std::string written) {
  draft = without(std::move(draft), key);
  draft.entries.push_back(std::move(written));
  return draft;
}

model_config config_of(const gguf_draft& draft) {
  const memory_file written(draft.bytes());
  return checkpoint(written.path()).config();
}

std::string tokenizer_refusal(const gguf_draft& draft) {
  const memory_file written(draft.bytes());
  return refusal([&] { checkpoint(written.path()).tokenizer(); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoints)

BOOST_AUTO_TEST_CASE(a_gguf_file_answers_to_hugging_face_names) {
  const memory_file written(tiny_llama().bytes());
  const checkpoint files(written.path());
  BOOST_TEST(files.family() == "llama");
  BOOST_TEST(files.weight_names() ==
                 (std::vector<std::string>{
                     "model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight",
                     "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
                     "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight",
                     "model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.gate_proj.weight",
                     "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight"}),
             boost::test_tools::per_element());
  for (const auto& name : files.weight_names()) BOOST_TEST(files.find(name).value().name() == name);
  BOOST_TEST(!files.find("lm_head.weight"));
  BOOST_TEST(!files.find("model.layers.1.mlp.up_proj.weight"));
  BOOST_TEST(!files.find(""));
}

BOOST_AUTO_TEST_CASE(interleaved_rows_of_queries_and_keys_come_in_transformers_order) {
  const memory_file written(tiny_llama().bytes());
  const checkpoint files(written.path());
  const auto query = files.at("model.layers.0.self_attn.q_proj.weight", {8, 8});
  const std::vector<int> rows{0, 2, 1, 3, 4, 6, 5, 7};  // two heads of four rows
  BOOST_TEST(stored_rows(query, 0, 8) == rows, boost::test_tools::per_element());
  for (std::int64_t first = 0; first <= 8; ++first) {
    for (auto last = first; last <= 8; ++last) {
      BOOST_TEST(stored_rows(query, first, last) == std::vector<int>(rows.begin() + first, rows.begin() + last),
                 boost::test_tools::per_element());
    }
  }
  const auto key = files.at("model.layers.0.self_attn.k_proj.weight", {4, 8});
  BOOST_TEST(stored_rows(key, 0, 4) == (std::vector<int>{0, 2, 1, 3}), boost::test_tools::per_element());
  const auto value = files.at("model.layers.0.self_attn.v_proj.weight", {4, 8});
  BOOST_TEST(stored_rows(value, 0, 4) == (std::vector<int>{0, 1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(interleaved_biases_come_in_transformers_order) {
  auto draft = tiny_llama();
  draft.add("blk.0.attn_q.bias", {8}, 0, counting_floats(8));
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  BOOST_TEST(files.config().attention_bias);
  const auto bias = files.at("model.layers.0.self_attn.q_proj.bias", {8});
  BOOST_TEST(bias.rows() == 8);
  BOOST_TEST(bias.columns() == 1);
  BOOST_TEST(floats(bias, 0, 8) == (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rows_of_blocks_are_read_as_stored_and_as_floats) {
  std::string blocks;
  for (int row = 0; row < 4; ++row) blocks += raw(std::uint16_t{0x3C00}) + std::string(32, static_cast<char>(row));
  gguf_draft draft;
  draft.entries = tiny_llama_entries();
  draft.add("token_embd.weight", {32, 4}, 8, blocks);
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  const auto embedding = files.at("model.embed_tokens.weight", {4, 32});
  BOOST_TEST((embedding.type() == cogen::element_type::q8_0));
  BOOST_TEST(embedding.row_bytes() == 34U);
  BOOST_TEST(embedding.bytes() == 4U * 34U);
  std::vector<std::byte> rows(68);
  embedding.read_rows(1, 3, rows);
  BOOST_TEST(std::string(reinterpret_cast<const char*>(rows.data()), rows.size()) == blocks.substr(34, 68));
  BOOST_TEST(floats(embedding, 2, 3) == std::vector<float>(32, 2), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(wrong_ranges_and_sizes_are_refused) {
  const memory_file written(tiny_llama().bytes());
  const checkpoint files(written.path());
  const auto query = files.at("model.layers.0.self_attn.q_proj.weight", {8, 8});
  std::vector<std::byte> row(32);
  BOOST_CHECK_THROW(query.read_rows(-1, 0, row), std::out_of_range);
  BOOST_CHECK_THROW(query.read_rows(8, 9, row), std::out_of_range);
  BOOST_CHECK_THROW(query.read_rows(3, 2, row), std::out_of_range);
  BOOST_CHECK_THROW(query.read_rows(0, 2, row), std::invalid_argument);
  std::vector<float> values(8);
  BOOST_CHECK_THROW(query.read_rows_as_float(0, 2, values), std::invalid_argument);
  BOOST_CHECK_THROW(query.read_rows_as_float(8, 9, values), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(missing_misshapen_and_unknown_weights_are_refused) {
  auto draft = tiny_llama();
  draft.add("blk.0.attn_sinks", {2}, 0, counting_floats(2));
  const memory_file written(draft.bytes());
  const checkpoint files(written.path());
  BOOST_TEST(says(refusal([&] {
                    files.at("lm_head.weight", {3, 8});
                  }),
                  "tensor 'lm_head.weight' of shape [3, 8] is missing"));
  BOOST_TEST(says(refusal([&] {
                    files.at("model.embed_tokens.weight", {4, 8});
                  }),
                  "tensor 'model.embed_tokens.weight' has shape [3, 8]; the configuration makes it [4, 8]"));
  auto expected = files.weight_names();
  expected.pop_back();
  BOOST_TEST(says(refusal([&] { files.refuse_others(expected); }),
                  "tensor 'blk.0.attn_sinks' belongs to no part of a llama model"));
  files.refuse_others(files.weight_names());
}

BOOST_AUTO_TEST_CASE(heads_that_do_not_divide_the_rows_are_refused) {
  const memory_file written(with(tiny_llama(), "head_count_kv", entry_u32("llama.attention.head_count_kv", 3)).bytes());
  const checkpoint files(written.path());
  BOOST_TEST(says(refusal([&] { files.find("model.layers.0.self_attn.k_proj.weight"); }),
                  "tensor 'blk.0.attn_k.weight' has 4 rows; an even number for each of 3 heads"));
}

BOOST_AUTO_TEST_CASE(tensors_tell_what_gguf_metadata_do_not) {
  BOOST_TEST(config_of(tiny_llama()).tie_embeddings);
  BOOST_TEST(!config_of(tiny_llama()).attention_bias);
  auto draft = tiny_llama();
  draft.add("output.weight", {8, 3}, 0, counting_floats(24));
  draft.add("rope_freqs.weight", {2}, 0, raw_floats({1, 8}));
  const auto config = config_of(draft);
  BOOST_TEST(!config.tie_embeddings);
  BOOST_TEST((config.rope.kind == rope_kind::listed));
  BOOST_TEST(config.rope.frequency_factors == (std::vector<float>{1, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(wrong_listed_frequencies_are_refused) {
  const auto with_factors = [](std::size_t count, float value) {
    auto draft = tiny_llama();
    draft.add("rope_freqs.weight", {count}, 0, raw_floats(std::vector<float>(count, value)));
    return draft;
  };
  BOOST_TEST(says(refusal([&] { config_of(with_factors(3, 1)); }), "tensor 'rope_freqs.weight' is f32 [3]; f32 [2]"));
  BOOST_TEST(says(refusal([&] { config_of(with_factors(2, 0)); }), "has the factor 0"));
  auto draft = with_factors(2, 1);
  draft.entries.push_back(entry_text("llama.rope.scaling.type", "yarn"));
  BOOST_TEST(says(refusal([&] { config_of(draft); }), "one of them is read"));
}

BOOST_AUTO_TEST_CASE(the_tokenizer_of_a_gguf_file_is_handed_over) {
  const memory_file written(tiny_llama().bytes());
  const auto tokenizer = std::get<cogen::text::gguf_vocabulary>(checkpoint(written.path()).tokenizer());
  BOOST_TEST(tokenizer.model == "gpt2");
  BOOST_TEST(tokenizer.pre == "smollm");
  BOOST_TEST(tokenizer.tokens == (std::vector<std::string>{"a", "b", "ab"}), boost::test_tools::per_element());
  BOOST_TEST(tokenizer.token_types == (std::vector<std::int32_t>{1, 1, 3}), boost::test_tools::per_element());
  BOOST_TEST(tokenizer.merges == std::vector<std::string>{"a b"}, boost::test_tools::per_element());
  BOOST_TEST(tokenizer.bos.value() == 1);
  BOOST_TEST(tokenizer.eos.value() == 2);
  BOOST_TEST(!tokenizer.unknown);
  BOOST_TEST(tokenizer.add_bos.value());
  BOOST_TEST(!tokenizer.add_eos.value_or(false));
  BOOST_TEST(tokenizer.chat_template.value() == "{{ messages[0].content }}");
}

BOOST_AUTO_TEST_CASE(a_wrong_tokenizer_is_refused) {
  const auto tiny = tiny_llama();
  BOOST_TEST(says(tokenizer_refusal(without(tiny, "tokenizer.ggml.model")), "tokenizer.ggml.model is missing"));
  BOOST_TEST(
      says(tokenizer_refusal(without(tiny, "tokenizer.ggml.tokens")), "tokenizer.ggml.tokens is missing or empty"));
  BOOST_TEST(says(tokenizer_refusal(with(tiny, "ggml.tokens", entry_u32("tokenizer.ggml.tokens", 1))),
                  "tokenizer.ggml.tokens has the wrong type"));
  BOOST_TEST(says(tokenizer_refusal(with(tiny, "token_type", entry_array("tokenizer.ggml.token_type", 5, 1, raw(1)))),
                  "tokenizer.ggml.token_type has 1 entries; tokenizer.ggml.tokens has 3"));
  BOOST_TEST(says(tokenizer_refusal(with(tiny, "bos_token", entry_u32("tokenizer.ggml.bos_token_id", 3))),
                  "tokenizer.ggml.bos_token_id is 3; an integer from 0 to 2"));
}

BOOST_AUTO_TEST_CASE(half_precision_and_shards_are_read) {
  const temporary_folder folder;
  folder.write("config.json", small_config);
  folder.write("model-00001-of-00002.safetensors",
               safetensors_bytes("{" + tensor_entry("model.embed_tokens.weight", "BF16", "1,3", 0, 6) + "}",
                                 raw(std::uint16_t{0x3F80}) + raw(std::uint16_t{0xC000}) + raw(std::uint16_t{0x0080})));
  folder.write("model-00002-of-00002.safetensors",
               safetensors_bytes("{" + tensor_entry("lm_head.weight", "F16", "1,3", 0, 6) + "}",
                                 raw(std::uint16_t{0x3C00}) + raw(std::uint16_t{0xC000}) + raw(std::uint16_t{0x0001})));
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"model.embed_tokens.weight":"model-00001-of-00002.safetensors",)"
               R"("lm_head.weight":"model-00002-of-00002.safetensors"}})");
  const checkpoint files(folder.path());
  const auto embedding = files.at("model.embed_tokens.weight", {1, 3}), head = files.at("lm_head.weight", {1, 3});
  BOOST_TEST((embedding.type() == cogen::element_type::bf16));
  BOOST_TEST((head.type() == cogen::element_type::f16));
  BOOST_TEST(floats(embedding, 0, 1) == (std::vector<float>{1, -2, 0x1p-126F}), boost::test_tools::per_element());
  BOOST_TEST(floats(head, 0, 1) == (std::vector<float>{1, -2, 0x1p-24F}), boost::test_tools::per_element());
  BOOST_TEST(!files.config().tie_embeddings);
}

BOOST_AUTO_TEST_CASE(a_folder_without_an_output_matrix_has_tied_embeddings) {
  const auto tied_with = [](std::string_view name) {
    const temporary_folder folder;
    folder.write("config.json", small_config);
    folder.write("model.safetensors",
                 safetensors_bytes("{" + tensor_entry(name, "F32", "1", 0, 4) + "}", counting_floats(1)));
    return checkpoint(folder.path()).config().tie_embeddings;
  };
  BOOST_TEST(tied_with("model.embed_tokens.weight"));
  for (const auto* head : {"lm_head.weight", "language_model.lm_head.weight", "embed_out.weight", "head.weight"})
    BOOST_TEST(!tied_with(head), head);
}

BOOST_AUTO_TEST_CASE(a_hugging_face_folder_is_read) {
  const temporary_folder folder;
  write_hugging_face_model(folder);
  folder.write("generation_config.json", R"({"eos_token_id":[1,3]})");
  const checkpoint files(folder.path());
  BOOST_TEST(files.family() == "llama");
  BOOST_TEST(files.config().eos == (std::vector<cogen::token>{1, 3}), boost::test_tools::per_element());
  const auto query = files.at("model.layers.0.self_attn.q_proj.weight", {2, 2});
  BOOST_TEST(floats(query, 0, 2) == (std::vector<float>{11, 12, 13, 14}), boost::test_tools::per_element());
  const std::vector<std::string> expected{"model.embed_tokens.weight", "model.norm.weight",
                                          "model.layers.0.self_attn.q_proj.weight"};
  files.refuse_others(expected);
  BOOST_TEST(says(refusal([&] { files.tokenizer(); }), "holds no tokenizer.json"));
  folder.write("tokenizer.json", "{ }");
  folder.write("chat_template.jinja", "{{ x }}");
  const auto tokenizer = std::get<tokenizer_files>(files.tokenizer());
  BOOST_TEST(tokenizer.tokenizer_json == "{ }");
  BOOST_TEST(!tokenizer.tokenizer_config_json);
  BOOST_TEST(tokenizer.chat_template_jinja.value() == "{{ x }}");
}

BOOST_AUTO_TEST_CASE(a_family_is_known_where_its_configuration_is_not) {
  const temporary_folder folder;
  write_hugging_face_model(folder);
  folder.write("config.json", R"({"model_type":"kimi_k2"})");
  const checkpoint files(folder.path());
  BOOST_TEST(files.family() == "kimi_k2");
  BOOST_TEST(says(refusal([&] { files.config(); }), "vocab_size is missing"));
}

BOOST_AUTO_TEST_CASE(pointers_of_git_lfs_are_named_as_such) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:12ab\nsize 5\n";
  const temporary_folder folder;
  BOOST_TEST(says(checkpoint_refusal(folder.write("a.gguf", pointer)), "a.gguf: is a pointer of Git LFS"));
  write_hugging_face_model(folder);
  folder.write("model.safetensors", pointer);
  BOOST_TEST(says(checkpoint_refusal(folder.path()), "model.safetensors: is a pointer of Git LFS; `git lfs pull`"));
}

BOOST_AUTO_TEST_CASE(links_to_nothing_are_files_that_cannot_be_read) {
  const temporary_folder folder;
  write_hugging_face_model(folder);
  for (const auto* name : {"tokenizer_config.json", "generation_config.json"})
    std::filesystem::create_symlink(folder.path() / "none", folder.path() / name);
  folder.write("tokenizer.json", "{ }");
  const checkpoint files(folder.path());
  BOOST_TEST(says(refusal([&] { files.tokenizer(); }), "tokenizer_config.json: cannot be opened: No such file"));
  BOOST_TEST(says(refusal([&] { files.config(); }), "generation_config.json: cannot be opened: No such file"));
}

BOOST_AUTO_TEST_CASE(gguf_files_of_other_kinds_are_named) {
  const auto refused = [](const std::vector<std::string>& entries) {
    gguf_draft draft;
    draft.entries = entries;
    draft.add("in_sum2", {1}, 0, raw_floats({1}));
    const memory_file file(draft.bytes());
    return checkpoint_refusal(file.path());
  };
  BOOST_TEST(says(refused({entry_text("general.type", "imatrix")}), "is an importance matrix"));
  const auto encoder = "has the encoder of a model's images or sounds";
  BOOST_TEST(says(refused({entry_text("general.type", "mmproj")}), encoder));
  BOOST_TEST(says(refused({entry_text("general.architecture", "clip")}), encoder));
  auto model = tiny_llama();
  model.entries.push_back(entry_text("general.type", "model"));
  const memory_file file(model.bytes());
  BOOST_TEST(checkpoint(file.path()).family() == "llama");
}

BOOST_AUTO_TEST_CASE(paths_that_lead_to_no_model_are_refused) {
  const temporary_folder folder;
  BOOST_TEST(says(checkpoint_refusal(folder.path()), "holds neither config.json nor a .gguf file"));
  BOOST_TEST(says(checkpoint_refusal(folder.path() / "none"), "none: cannot be opened: No such file"));
  BOOST_TEST(says(checkpoint_refusal(folder.write("model.bin", "pickle")),
                  "is not a GGUF file; of a Hugging Face model the folder is named"));
  BOOST_REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  BOOST_TEST(says(checkpoint_refusal(folder.path() / "pipe"), "pipe: is not a regular file"));
  folder.write("a.gguf", tiny_llama().bytes());
  BOOST_TEST(checkpoint(folder.path()).family() == "llama");
  folder.write("b.gguf", tiny_llama().bytes());
  BOOST_TEST(says(checkpoint_refusal(folder.path()), "holds 2 .gguf files; name the one to read"));
  folder.write("config.json", std::string(5 << 20, ' '));
  BOOST_TEST(says(checkpoint_refusal(folder.path()), "config.json: has 5242880 bytes; at most 4194304 are read"));
}

BOOST_AUTO_TEST_SUITE_END()
