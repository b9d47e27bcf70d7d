#include "network/backend/cuda/cudnn_attention.hpp"

#include "network/backend/cuda/cudnn_graph.hpp"
#include "network/kernels/prompt_tables_cuda.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace cogen::device {

namespace {

namespace cuda = kernels::cuda;
namespace fe = cudnn_frontend;
using fe::graph::Graph;

struct destroy_handle {
  void operator()(cudnnHandle_t handle) const { fe::detail::destroy_handle(handle); }
};

using handle = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, destroy_handle>;

prompt_plan_shape plan_shape_of(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                                const cache::device_layer& layer, const at::Tensor& out) {
  const auto& keys = layer.keys;
  return {.layout = {.heads = queries.size(1),
                     .kv_heads = keys.size(2),
                     .head_dim = keys.size(3),
                     .slots = keys.size(0),
                     .slot_tokens = keys.stride(0) / keys.stride(1),
                     .token_stride = keys.stride(1),
                     .query_stride = queries.stride(0),
                     .out_stride = out.stride(0),
                     .number_bytes = static_cast<int>(keys.element_size())},
          .bucket = bucket_of(static_cast<std::int64_t>(rows.prompts.size()), rows.longest, rows.reach),
          .window = layer.span.window,
          .scale = shape.scale,
          .is_bfloat16 = keys.scalar_type() == at::kBFloat16};
}

std::string described(const prompt_plan_shape& shape, std::string_view why) {
  const auto& [layout, bucket, window, scale, is_bfloat16] = shape;
  return fmt::format("up to {} prompts of {} tokens within {}, {} heads over {} of {}, {}window {}: {}", bucket.prompts,
                     bucket.longest, bucket.reach, layout.heads, layout.kv_heads, layout.head_dim,
                     is_bfloat16 ? "" : "float16, ", window, why);
}

/// The memory of prompt_tables.
class table_memory {
 public:
  explicit table_memory(const prompt_bucket& bucket)
      : rows_(bucket.prompts),
        pages_(bucket.table_pages()),
        query_offsets_(allocate(rows_ + 1, at::kLong)),
        out_offsets_(allocate(rows_ + 1, at::kLong)),
        query_lengths_(allocate(rows_, at::kInt)),
        key_lengths_(allocate(rows_, at::kInt)),
        page_table_(allocate(rows_ * pages_, at::kInt)) {}

  cuda::prompt_tables tables_for(const prompt_layout& layout) const {
    return {.rows = static_cast<int>(rows_),
            .pages = static_cast<int>(pages_),
            .page_tokens = static_cast<int>(page_tokens),
            .query_stride = layout.query_stride,
            .out_stride = layout.out_stride,
            .query_offsets = query_offsets_.mutable_data_ptr<std::int64_t>(),
            .out_offsets = out_offsets_.mutable_data_ptr<std::int64_t>(),
            .query_lengths = query_lengths_.mutable_data_ptr<std::int32_t>(),
            .key_lengths = key_lengths_.mutable_data_ptr<std::int32_t>(),
            .page_table = page_table_.mutable_data_ptr<std::int32_t>()};
  }

 private:
  static at::Tensor allocate(std::int64_t count, at::ScalarType type) {
    return at::empty({count}, at::TensorOptions(at::kCUDA).dtype(type));
  }

  std::int64_t rows_;
  std::int64_t pages_;
  at::Tensor query_offsets_;
  at::Tensor out_offsets_;
  at::Tensor query_lengths_;
  at::Tensor key_lengths_;
  at::Tensor page_table_;
};

cuda::prompt_rows prompts_of(const step_rows& rows) {
  return {.starts = rows.prompt_starts.const_data_ptr<std::int32_t>(),
          .origins = rows.prompt_origins.const_data_ptr<std::int32_t>(),
          .lengths = rows.prompt_lengths.const_data_ptr<std::int32_t>(),
          .count = static_cast<int>(rows.prompts.size())};
}

cuda::paged_layer pages_of(const cache::device_layer& layer) {
  return {.keys = static_cast<std::byte*>(layer.keys.mutable_data_ptr()),
          .values = static_cast<std::byte*>(layer.values.mutable_data_ptr()),
          .token_bytes = layer.keys.stride(1) * layer.keys.element_size()};
}

}  // namespace

class cudnn_attention::plans {
 public:
  explicit plans(std::shared_ptr<prompt_attention_log> log) : log_(std::move(log)) {}

  /// Null where there is none.
  Graph* find(const prompt_plan_shape& shape) {
    auto found = graphs_.find(shape);
    if (found == graphs_.end()) found = graphs_.emplace(shape, make_plan(shape)).first;
    return found->second.get();
  }

  void run(const Graph& plan, std::unordered_map<std::int64_t, void*>& tensors) {
    const auto workspace = at::empty({plan.get_workspace_size()}, at::TensorOptions(at::kCUDA).dtype(at::kByte));
    if (const auto status = fe::detail::set_stream(handle_.get(), at::cuda::getCurrentCUDAStream());
        status != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error(fmt::format("cuDNN: {}", fe::detail::get_error_string(status)));
    if (auto status = plan.execute(handle_.get(), tensors, workspace.mutable_data_ptr()); status.is_bad())
      throw std::runtime_error(fmt::format("cuDNN: attention of prompts: {}", status.get_message()));
  }

 private:
  std::shared_ptr<Graph> make_plan(const prompt_plan_shape& shape) try {
    if (!lies_in_pages(shape.layout)) throw std::runtime_error("slots of the cache are not runs of pages");
    if (!fits_tables(shape.bucket)) throw std::runtime_error("tables of so many pages are too large");
    if (!handle_) handle_ = started();
    auto graph = make_prompt_graph(shape, sm_version());
    graph->deselect_workspace_greater_than(max_workspace_bytes);
    if (auto status = graph->build(handle_.get(), {fe::HeurMode_t::A}); status.is_bad())
      throw std::runtime_error(status.get_message());
    return graph;
  } catch (const std::runtime_error& error) {
    log_->add_refusal(described(shape, error.what()));
    return nullptr;
  }

  static int sm_version() {
    const auto* device = at::cuda::getCurrentDeviceProperties();
    return 10 * device->major + device->minor;
  }

  static handle started() {
    if (const auto& why = load_cudnn(); !why.empty()) throw std::runtime_error(why);
    cudnnHandle_t created = nullptr;
    if (const auto status = fe::detail::create_handle(&created); status != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error(fmt::format("it cannot be started: {}", fe::detail::get_error_string(status)));
    return handle(created);
  }

  const std::shared_ptr<prompt_attention_log> log_;
  handle handle_;  // null: it was not started yet
  std::map<prompt_plan_shape, std::shared_ptr<Graph>> graphs_;
};

cudnn_attention::cudnn_attention(std::shared_ptr<prompt_attention_log> log)
    : plans_(std::make_unique<plans>(std::move(log))) {}

cudnn_attention::~cudnn_attention() = default;

bool cudnn_attention::attend(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
                             const cache::device_layer& layer, const at::Tensor& out) {
  const auto wanted = plan_shape_of(queries, shape, rows, layer, out);
  const auto* plan = plans_->find(wanted);
  if (plan == nullptr) return false;
  const table_memory memory(wanted.bucket);
  const auto tables = memory.tables_for(wanted.layout);
  const auto pages = pages_of(layer);
  cuda::write_prompt_tables(prompts_of(rows), tables, pages, at::cuda::getCurrentCUDAStream());
  std::unordered_map<std::int64_t, void*> tensors;
  const auto bind = [&](prompt_tensor id, void* data) { tensors.emplace(static_cast<std::int64_t>(id), data); };
  bind(prompt_tensor::queries, const_cast<void*>(queries.const_data_ptr()));
  bind(prompt_tensor::keys, pages.keys);
  bind(prompt_tensor::values, pages.values);
  bind(prompt_tensor::out, out.mutable_data_ptr());
  bind(prompt_tensor::query_offsets, tables.query_offsets);
  bind(prompt_tensor::out_offsets, tables.out_offsets);
  bind(prompt_tensor::query_lengths, tables.query_lengths);
  bind(prompt_tensor::key_lengths, tables.key_lengths);
  bind(prompt_tensor::page_table, tables.page_table);
  bind(prompt_tensor::value_page_table, tables.page_table);
  plans_->run(*plan, tensors);
  return true;
}

}  // namespace cogen::device
