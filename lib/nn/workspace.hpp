#pragma once

#include "backend/cpu/activations.hpp"
#include "kernels/token_rows.hpp"
#include "kernels/worker_pool.hpp"
#include "nn/device_forward.hpp"

#include <cogen/load_model.hpp>

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace cogen::nn {

/// What a workspace keeps between forwards.
struct scratch {
  std::shared_ptr<kernels::worker_pool> workers;
  compute_type mode = compute_type::float32;
  cpu::arena space;
  std::vector<kernels::token_rows> rows;
  std::unique_ptr<device_forward> on_device;  // of the model on a device that it ran last
  at::Tensor logits;                          // [capacity, vocabulary]
  at::Tensor last_logits;                     // the rows of it that the last forward returned

  /// [count, vocabulary] float32; the same memory each time.
  const at::Tensor& logits_of(std::int64_t count, std::int64_t vocabulary);
};

}  // namespace cogen::nn
