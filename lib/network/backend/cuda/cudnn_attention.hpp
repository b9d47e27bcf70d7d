#pragma once

#include "network/backend/cuda/prompt_attention_log.hpp"
#include "network/backend/operators.hpp"

#include <cogen/cache/device_cache.hpp>

#include <memory>

namespace cogen::device {

/// Attention of prompts by cuDNN, which reads keys and values as pages where they lie in the cache. Used by one thread
/// at a time.
///
/// Plans are made when they are first needed, one for each bucket of prompts, for which they take tens of milliseconds
/// (not measured). Where cuDNN cannot be started, or has no plan, it is not asked again for the same; `log` has the
/// reason.
class cudnn_attention {
 public:
  explicit cudnn_attention(std::shared_ptr<prompt_attention_log> log);
  ~cudnn_attention();

  /// Enqueues attention of a step's prompts on the current stream, and returns true; or does nothing and returns false,
  /// where keys do not lie in pages or there is no plan. queries [tokens, heads, head_dim] are of the type of keys,
  /// values and out [tokens, heads * head_dim]; the layer has no ring and no sinks. Overwrites what the cache has
  /// behind the prompts' last tokens, up to the end of a page. Throws std::runtime_error, with cuDNN's message, if the
  /// device fails.
  bool attend(const at::Tensor& queries, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out);

 private:
  class plans;
  const std::unique_ptr<plans> plans_;
};

}  // namespace cogen::device
