#pragma once

#include "network/backend/cpu/activations.hpp"
#include "network/kernels/token_rows.hpp"
#include "network/kernels/worker_pool.hpp"
#include "network/nn/device/device_forward.hpp"

#include <cogen/load_model.hpp>

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace cogen::nn {

/// Memory of logits, the same each time unless there are more.
struct logits_memory {
  at::Tensor buffer;  // [capacity, vocabulary]
  at::Tensor last;    // the rows of it that were asked for last

  /// [count, vocabulary] float32
  const at::Tensor& reserve(std::int64_t count, std::int64_t vocabulary);
};

/// What a workspace keeps between forwards.
struct scratch {
  std::shared_ptr<kernels::worker_pool> workers;
  compute_type mode = compute_type::float32;
  cpu::arena space;
  std::vector<kernels::token_rows> rows, state_rows;
  std::unique_ptr<device_forward> on_device;  // of the model on a device that it ran last
  logits_memory logits;
  logits_memory predictions;
  cpu::activations hidden;  // of the last forward, for multi-token prediction: [tokens, hidden], in `space`
};

}  // namespace cogen::nn
