#pragma once

#include "network/backend/cpu/activations.hpp"
#include "network/kernels/token_rows.hpp"
#include "network/kernels/worker_pool.hpp"

#include <cogen/detail/matrix.hpp>
#include <cogen/load_model.hpp>

#include <memory>
#include <vector>

namespace cogen::nn {

/// Memory of logits, the same each time unless there are more.
struct logits_memory {
  matrix buffer;  // [capacity, vocabulary]

  /// [count, vocabulary]
  matrix_view reserve(std::int64_t count, std::int64_t vocabulary);
};

/// What a network that does not run on the CPU keeps between forwards.
class network_memory {
 public:
  virtual ~network_memory() = default;
  virtual std::int64_t bytes() const noexcept = 0;
};

/// What a workspace keeps between forwards.
struct scratch {
  std::shared_ptr<kernels::worker_pool> workers;
  compute_type mode = compute_type::float32;
  cpu::arena space;
  std::vector<kernels::token_rows> rows, state_rows;
  std::unique_ptr<network_memory> on_device;  // of the model on a device that it ran last
  logits_memory logits;
  logits_memory predictions;
  matrix whole;             // logits of a batch that ran in parts
  cpu::activations hidden;  // of the last forward, for multi-token prediction: [tokens, hidden], in `space`
};

}  // namespace cogen::nn
