#include "network/backend/cuda/cudnn_graph.hpp"

#include <dlfcn.h>
#include <string>
#include <vector>

namespace cudnn_frontend {

void* cudnn_dlhandle = nullptr;  // where the frontend finds cuDNN's functions

}  // namespace cudnn_frontend

namespace cogen::device {

namespace {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using tensor = std::shared_ptr<Tensor_attributes>;

Tensor_attributes named(const char* name, prompt_tensor id) {
  return Tensor_attributes().set_name(name).set_uid(static_cast<std::int64_t>(id));
}

/// Integers, one for each prompt, or one more.
tensor integers(fe::graph::Graph& graph, const char* name, prompt_tensor id, std::int64_t count, fe::DataType_t type) {
  return graph.tensor(named(name, id).set_dim({count, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(type));
}

tensor offsets(fe::graph::Graph& graph, const char* name, prompt_tensor id, const prompt_bucket& bucket) {
  return integers(graph, name, id, bucket.prompts + 1, fe::DataType_t::INT64);
}

tensor lengths(fe::graph::Graph& graph, const char* name, prompt_tensor id, const prompt_bucket& bucket) {
  return integers(graph, name, id, bucket.prompts, fe::DataType_t::INT32);
}

tensor page_table(fe::graph::Graph& graph, const char* name, prompt_tensor id, const prompt_bucket& bucket) {
  const auto pages = bucket.table_pages();
  return graph.tensor(named(name, id)
                          .set_dim({bucket.prompts, 1, pages, 1})
                          .set_stride({pages, pages, 1, 1})
                          .set_data_type(fe::DataType_t::INT32));
}

/// [pages, kv_heads, page_tokens, head_dim]
tensor pages(fe::graph::Graph& graph, const char* name, prompt_tensor id, const prompt_layout& layout) {
  return graph.tensor(named(name, id)
                          .set_dim({pages_of(layout), layout.kv_heads, page_tokens, layout.head_dim})
                          .set_stride({page_tokens * layout.token_stride, layout.head_dim, layout.token_stride, 1}));
}

/// Those of queries and results, [prompts, heads, tokens, head_dim].
std::vector<std::int64_t> dimensions_of(const prompt_plan_shape& shape) {
  return {shape.bucket.prompts, shape.layout.heads, shape.bucket.longest, shape.layout.head_dim};
}

std::vector<std::int64_t> strides_of(const prompt_plan_shape& shape, std::int64_t token_stride) {
  return {shape.bucket.longest * token_stride, shape.layout.head_dim, token_stride, 1};
}

std::string loaded() {
  fe::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW);
  if (fe::cudnn_dlhandle != nullptr) return {};
  const char* why = dlerror();
  return why != nullptr ? why : "libcudnn.so.9 is missing";
}

}  // namespace

const std::string& load_cudnn() {
  static const std::string why_not = loaded();
  return why_not;
}

std::shared_ptr<fe::graph::Graph> make_prompt_graph(const prompt_plan_shape& shape, int sm_version) {
  const auto& [layout, bucket, window, scale, is_bfloat16] = shape;
  auto result = std::make_shared<fe::graph::Graph>();
  auto& graph = *result;
  graph.set_io_data_type(is_bfloat16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(sm_version);
  const auto queries =
      graph.tensor(named("queries", prompt_tensor::queries)
                       .set_dim(dimensions_of(shape))
                       .set_stride(strides_of(shape, layout.query_stride))
                       .set_ragged_offset(offsets(graph, "query_offsets", prompt_tensor::query_offsets, bucket)));
  auto attention =
      fe::graph::SDPA_attributes()
          .set_name("attention")
          .set_generate_stats(false)
          .set_attn_scale(scale)
          .set_padding_mask(true)
          .set_seq_len_q(lengths(graph, "query_lengths", prompt_tensor::query_lengths, bucket))
          .set_seq_len_kv(lengths(graph, "key_lengths", prompt_tensor::key_lengths, bucket))
          .set_diagonal_alignment(fe::DiagonalAlignment_t::BOTTOM_RIGHT)
          .set_diagonal_band_right_bound(0)
          .set_paged_attention_k_table(page_table(graph, "page_table", prompt_tensor::page_table, bucket))
          .set_paged_attention_v_table(page_table(graph, "value_page_table", prompt_tensor::value_page_table, bucket))
          .set_paged_attention_max_seq_len_kv(static_cast<int>(bucket.reach));
  if (window > 0) attention.set_diagonal_band_left_bound(window);
  const auto out = graph.sdpa(queries, pages(graph, "keys", prompt_tensor::keys, layout),
                              pages(graph, "values", prompt_tensor::values, layout), attention)[0];
  out->set_output(true)
      .set_uid(static_cast<std::int64_t>(prompt_tensor::out))
      .set_dim(dimensions_of(shape))
      .set_stride(strides_of(shape, layout.out_stride))
      .set_ragged_offset(offsets(graph, "out_offsets", prompt_tensor::out_offsets, bucket));
  return result;
}

}  // namespace cogen::device
