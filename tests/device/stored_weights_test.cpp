// Weights that devices keep as their file has them.
#include "../kernels/quantized_rows.hpp"
#include "../load/temporary_folder.hpp"
#include "../load/tiny_model.hpp"
#include "../repetitions.hpp"
#include "../test_data.hpp"
#include "network/backend/backend.hpp"
#include "network/backend/tensor_weights.hpp"
#include "network/kernels/worker_pool.hpp"
#include "network/models/families.hpp"
#include "network/nn/part_reader.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(weights_as_stored)

using kernels::weight_packing;

constexpr int hidden = 256, inner = 512, kv_width = 128;

/// How a file stores the matrices of a layer.
struct layer_formats {
  element_type q, k, v, o, gate, up, down;
};

constexpr layer_formats layers[] = {
    {element_type::q4_k, element_type::q4_k, element_type::q6_k, element_type::q8_0, element_type::q5_k,
     element_type::q5_1, element_type::q4_1},
    {element_type::q5_0, element_type::q4_0, element_type::q6_k, element_type::mxfp4, element_type::q2_k,
     element_type::q3_k, element_type::iq4_xs},
    {element_type::q8_0, element_type::f16, element_type::q8_0, element_type::iq4_nl, element_type::mxfp4,
     element_type::mxfp4, element_type::q6_k},
    {element_type::q8_0, element_type::mxfp4, element_type::q5_k, element_type::q4_k, element_type::q6_k,
     element_type::q6_k, element_type::q5_k},
};

/// How a file stores the matrices of tokens. Without an output matrix, the embeddings are that, too.
struct table_formats {
  element_type embeddings = element_type::f32;
  std::optional<element_type> output = {};
};

constexpr int vocabulary = 3;

/// A Llama of these layers, with random weights.
std::string file_of_layers(const table_formats& tables) {
  gguf_draft draft;
  draft.entries = tiny_llama_entries();
  const auto set = [&](const std::string& key, std::uint32_t value) {
    for (auto& each : draft.entries)
      if (each.starts_with(raw_text("llama." + key))) each = entry_u32("llama." + key, value);
  };
  set("block_count", std::size(layers));
  set("embedding_length", hidden);
  set("feed_forward_length", inner);
  set("attention.head_count", 4);
  set("attention.head_count_kv", 2);
  std::uint32_t seed = 0;
  const auto add = [&](const std::string& name, element_type format, int rows, int columns) {
    const auto matrix = kernels::random_rows(format, rows, columns, ++seed);
    draft.add(name + ".weight", {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)},
              kernels::ggml_number(format),
              std::string_view(reinterpret_cast<const char*>(matrix.bytes.data()), matrix.bytes.size()));
  };
  const auto add_norm = [&](const std::string& name) {
    draft.add(name + ".weight", {hidden}, 0, raw_floats(std::vector<float>(hidden, 1)));
  };
  add("token_embd", tables.embeddings, vocabulary, hidden);
  if (tables.output) add("output", *tables.output, vocabulary, hidden);
  add_norm("output_norm");
  for (std::size_t index = 0; index < std::size(layers); ++index) {
    const auto& formats = layers[index];
    const auto prefix = "blk." + std::to_string(index) + ".";
    add_norm(prefix + "attn_norm");
    add(prefix + "attn_q", formats.q, hidden, hidden);
    add(prefix + "attn_k", formats.k, kv_width, hidden);
    add(prefix + "attn_v", formats.v, kv_width, hidden);
    add(prefix + "attn_output", formats.o, hidden, hidden);
    add_norm(prefix + "ffn_norm");
    add(prefix + "ffn_gate", formats.gate, inner, hidden);
    add(prefix + "ffn_up", formats.up, inner, hidden);
    add(prefix + "ffn_down", formats.down, hidden, inner);
  }
  return draft.bytes();
}

struct file_in_folder {
  explicit file_in_folder(const table_formats& tables = {})
      : path(folder.write("model.gguf", file_of_layers(tables))) {}

  temporary_folder folder;
  std::filesystem::path path;
};

at::Tensor logits_of(const model& model) {
  auto cache = model.make_cache({.slots = 1, .max_sequence_length = 64});
  return at::tensor(model.forward(std::vector<token>{0, 1, 2, 1, 1, 0, 2}, cache));
}

/// The matrices of a projection: queries, keys and values, or gate and up.
std::vector<weights::named_rows> parts_of(std::size_t layer, const std::vector<std::string>& names) {
  std::vector<weights::named_rows> parts;
  for (const auto& name : names) {
    const bool is_short = name == "self_attn.k_proj" || name == "self_attn.v_proj";
    const bool is_inner = name == "mlp.gate_proj" || name == "mlp.up_proj";
    parts.push_back({.name = "model.layers." + std::to_string(layer) + "." + name + ".weight",
                     .rows = is_short   ? kv_width
                             : is_inner ? inner
                                        : hidden});
  }
  return parts;
}

const std::vector<std::string> qkv{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
const std::vector<std::string> output{"self_attn.o_proj"}, gate_up{"mlp.gate_proj", "mlp.up_proj"},
    down{"mlp.down_proj"};

/// A model with weights as they are stored computes what it does with whole ones, in less memory.
void check_model(const std::filesystem::path& path) {
  const auto whole = load_model(path, {.threads = 2, .device = "reference"});
  const auto stored = load_model(path, {.threads = 2, .device = "reference", .device_weights = device_weights::stored});
  const auto expected = logits_of(*whole), logits = logits_of(*stored);
  BOOST_TEST(expected.abs().max().item<float>() > 0.1F);
  BOOST_TEST(((logits - expected).norm() / expected.norm()).item<float>() < 1e-4F);
  BOOST_TEST(stored->weight_bytes() < whole->weight_bytes() * 9 / 10);
}

BOOST_AUTO_TEST_CASE(models_compute_what_they_do_with_whole_weights) { check_model(file_in_folder().path); }

BOOST_AUTO_TEST_CASE(experts_do_so_too) { check_model(golden_folder("gpt_oss_mxfp4")); }

/// Reads such projections of that file.
struct projection_reader {
  file_in_folder file;
  load::checkpoint files{file.path};
  std::unique_ptr<device::operators> ops = device::backend_named("reference")->make_operators();

  device::projection read(device_weights bits, std::size_t layer, const std::vector<std::string>& names,
                          kernels::worker_pool* workers = nullptr) const {
    device::stored_weights weights(files, at::TensorOptions().dtype(at::kFloat), {}, {.bits = bits, .ops = ops.get()},
                                   workers);
    return weights.projection(parts_of(layer, names), names == down ? inner : hidden);
  }
};

void check_same(const device::projection& layer, const device::projection& other) {
  BOOST_TEST(layer.weights.equal(other.weights));
  BOOST_REQUIRE(layer.scales.defined() == other.scales.defined());
  if (layer.scales.defined()) BOOST_TEST(layer.scales.equal(other.scales));
}

BOOST_AUTO_TEST_CASE(codes_that_have_4_bits_stay_in_4_bits) {
  const projection_reader reader;
  check_same(reader.read(device_weights::int4, 0, down), reader.read(device_weights::stored, 0, down));      // Q4_1
  check_same(reader.read(device_weights::int4, 3, output), reader.read(device_weights::stored, 3, output));  // Q4_K
}

BOOST_AUTO_TEST_CASE(matrices_of_one_product_have_a_form_that_holds_all) {
  const projection_reader reader;
  const auto check = [&](std::size_t layer, const std::vector<std::string>& names, weight_packing expected) {
    const auto result = reader.read(device_weights::stored, layer, names);
    BOOST_TEST((result.packing == expected), names.front() << " of layer " << layer);
    BOOST_TEST(result.scales.defined() == (expected != weight_packing::whole));
  };
  check(0, qkv, weight_packing::int6_zeros);
  check(0, output, weight_packing::int8_groups);
  check(0, gate_up, weight_packing::int5);
  check(0, down, weight_packing::int4);
  check(1, qkv, weight_packing::int6);
  check(1, output, weight_packing::mxfp4);
  check(1, gate_up, weight_packing::int6_zeros);
  check(1, down, weight_packing::int8_groups);
  check(2, qkv, weight_packing::whole);
  check(2, gate_up, weight_packing::mxfp4);
  check(3, qkv, weight_packing::int8_zeros);
}

/// An embedding and a head of a file, as a network reads them.
struct tables_of_file {
  device::embedding embedding;
  device::head head;
};

tables_of_file read_tables(const table_formats& formats, device_weights bits) {
  const file_in_folder file{formats};
  const load::checkpoint files(file.path);
  const auto ops = device::backend_named("reference")->make_operators();
  device::stored_weights weights(files, at::TensorOptions().dtype(at::kFloat), {}, {.bits = bits, .ops = ops.get()});
  const auto config = files.config();
  const auto spec = models::family_named(files.family())(files.fields(), config);
  nn::part_reader<device::tensors, device::tensor_weights> read(config, spec.vocabulary, weights);
  auto embedding = read.read(spec.embedding);
  auto head = read.read(spec.head, spec.embedding);
  return {std::move(embedding), std::move(head)};
}

BOOST_AUTO_TEST_CASE(embeddings_and_outputs_keep_their_codes_or_have_8_bits) {
  using enum device_weights;
  const auto check = [](element_type format, device_weights bits, weight_packing expected) {
    const auto [embedding, head] = read_tables({format, element_type::q6_k}, bits);
    BOOST_TEST((embedding.table.packing == expected));
    BOOST_TEST((head.product.packing == (bits == whole  ? weight_packing::whole
                                         : bits == int8 ? weight_packing::int8
                                                        : weight_packing::int6)));
    const auto numbers = read_tables({format, element_type::q6_k}, whole).embedding.table.weights;
    const auto ops = device::backend_named("reference")->make_operators();
    const auto ids = at::arange(vocabulary, at::kInt);
    const auto found = at::empty({vocabulary, hidden}, at::kFloat);
    device::step_rows step;
    step.ids = ids;
    step.slots = step.positions = at::zeros_like(ids);
    ops->embed(embedding, step, at::zeros({1}, at::kInt), found);
    const bool is_exact = expected != weight_packing::int8;
    BOOST_TEST(((found - numbers).norm() / numbers.norm()).item<float>() < (is_exact ? 1e-6F : 0.02F));
  };
  for (const auto format : thin(std::vector(std::begin(kernels::all_formats), std::end(kernels::all_formats)), 4))
    if (kernels::ggml_number(format) != ~0U) check(format, int8, weight_packing::int8);
  for (const auto format : {element_type::f32, element_type::f16, element_type::bf16}) {
    check(format, whole, weight_packing::whole);
    check(format, stored, weight_packing::whole);
    check(format, int4, weight_packing::int8);
  }
  for (const auto bits : {stored, int4}) {
    check(element_type::q4_0, bits, weight_packing::int4);
    check(element_type::q4_k, bits, weight_packing::int4);
    check(element_type::q5_k, bits, weight_packing::int5);
    check(element_type::q6_k, bits, weight_packing::int6);
    check(element_type::q2_k, bits, weight_packing::int6_zeros);
    check(element_type::q8_0, bits, weight_packing::int8_groups);
    check(element_type::mxfp4, bits, weight_packing::mxfp4);
  }
}

BOOST_AUTO_TEST_CASE(embeddings_that_are_the_output_matrix_are_in_memory_once) {
  using enum device_weights;
  for (const auto bits : {whole, stored, int8, int4}) {
    const auto [embedding, head] = read_tables({element_type::q8_0}, bits);
    BOOST_TEST(embedding.table.weights.is_same(head.product.weights));
    BOOST_TEST((bits == whole || embedding.table.scales.is_same(head.product.scales)));
    BOOST_TEST((embedding.table.type() == at::kFloat));
  }
  const auto [embedding, head] = read_tables({element_type::q8_0, element_type::q8_0}, stored);
  BOOST_TEST(!embedding.table.weights.is_same(head.product.weights));
}

/// A step reads the output matrix, and few rows of the embeddings.
BOOST_AUTO_TEST_CASE(the_bytes_of_an_output_matrix_are_those_of_its_codes) {
  const auto bytes = [](const table_formats& formats) {
    const file_in_folder file{formats};
    return load_model(file.path, {.threads = 1, .device = "reference", .device_weights = device_weights::stored})
        ->weight_bytes();
  };
  constexpr std::int64_t numbers = std::int64_t{vocabulary} * hidden;
  const auto in_float32 = bytes({element_type::f32}), tied = bytes({element_type::q6_k});
  BOOST_TEST(in_float32 - tied == 4 * numbers - (numbers + 4 * numbers / 16));  // a byte each here, a scale for 16
  BOOST_TEST(bytes({element_type::f32, element_type::q6_k}) == tied);
}

BOOST_AUTO_TEST_CASE(models_with_quantized_embeddings_compute_what_they_do_with_whole_ones) {
  for (const auto format : {element_type::q4_k, element_type::q6_k, element_type::q8_0, element_type::mxfp4}) {
    check_model(file_in_folder{{format}}.path);
    check_model(file_in_folder{{format, element_type::q5_k}}.path);
  }
}

BOOST_AUTO_TEST_CASE(ranks_read_their_rows_of_the_whole_table) {
  const file_in_folder file{{element_type::q6_k}};
  const load::checkpoint files(file.path);
  const auto ops = device::backend_named("reference")->make_operators();
  for (const auto bits : {device_weights::stored, device_weights::int8}) {
    device::stored_weights weights(files, at::TensorOptions().dtype(at::kFloat), {}, {.bits = bits, .ops = ops.get()});
    weights::named_rows rows{.name = "model.embed_tokens.weight", .rows = vocabulary};
    const auto whole = weights.table(rows, hidden);
    rows.rows = 2;
    rows.stored = vocabulary;
    rows.runs = {{1, 2}};
    check_same(weights.table(rows, hidden), device::outputs_of(whole, 1, 2));
  }
}

BOOST_AUTO_TEST_CASE(threads_read_the_same_weights) {
  const projection_reader reader;
  kernels::worker_pool three(3);
  for (const auto bits : {device_weights::whole, device_weights::int8, device_weights::int4, device_weights::fp8,
                          device_weights::stored}) {
    check_same(reader.read(bits, 0, qkv, &three), reader.read(bits, 0, qkv));
    check_same(reader.read(bits, 1, down, &three), reader.read(bits, 1, down));
  }
}

BOOST_AUTO_TEST_CASE(on_the_processor_they_are_whole_ones) {
  const file_in_folder file;
  const auto whole = load_model(file.path, {.threads = 1});
  const auto stored = load_model(file.path, {.threads = 1, .device_weights = device_weights::stored});
  BOOST_TEST(whole->fingerprint() == stored->fingerprint());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
