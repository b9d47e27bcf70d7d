#include "network/nn/workspace.hpp"

#include <cogen/model.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen {

namespace nn {

matrix_view logits_memory::reserve(std::int64_t count, std::int64_t vocabulary) {
  const auto held = buffer.rows();
  if (held < count || buffer.columns() != vocabulary) {
    buffer = matrix();  // freed before its replacement is allocated
    buffer = matrix(std::max(count, 2 * held), vocabulary);
  }
  return buffer.view().first_rows(count);
}

}  // namespace nn

workspace::workspace(std::optional<int> threads, cogen::compute_type mode)
    : workspace(std::make_shared<kernels::worker_pool>(threads), mode) {}

workspace::workspace(std::shared_ptr<kernels::worker_pool> workers, cogen::compute_type mode)
    : scratch_(std::make_unique<nn::scratch>()) {
  if (!workers) throw std::invalid_argument("a workspace needs a pool of threads");
  scratch_->workers = std::move(workers);
  scratch_->mode = mode;
}

workspace::workspace(workspace&&) noexcept = default;
workspace& workspace::operator=(workspace&&) noexcept = default;
workspace::~workspace() = default;

const std::shared_ptr<kernels::worker_pool>& workspace::workers() const noexcept { return scratch_->workers; }

int workspace::threads() const noexcept { return scratch_->workers->threads(); }

compute_type workspace::compute_type() const noexcept { return scratch_->mode; }

std::int64_t workspace::bytes() const noexcept {
  const auto on_device = scratch_->on_device ? scratch_->on_device->bytes() : 0;
  return scratch_->space.bytes() + scratch_->logits.buffer.bytes() + scratch_->predictions.buffer.bytes() +
         scratch_->whole.bytes() + on_device;
}

}  // namespace cogen
