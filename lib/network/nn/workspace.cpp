#include "network/nn/workspace.hpp"

#include "network/nn/host_tensor.hpp"

#include <cogen/model.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen {

namespace nn {

const at::Tensor& logits_memory::reserve(std::int64_t count, std::int64_t vocabulary) {
  const auto held = buffer.defined() ? buffer.size(0) : 0;
  if (!buffer.defined() || held < count || buffer.size(1) != vocabulary) {
    last = buffer = at::Tensor();  // freed before its replacement is allocated
    last = buffer = host_floats(std::max(count, 2 * held), vocabulary);
  }
  if (last.size(0) != count) last = first_rows(buffer, count);
  return last;
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
  const auto bytes_of = [](const nn::logits_memory& logits) {
    return logits.buffer.defined() ? static_cast<std::int64_t>(logits.buffer.nbytes()) : 0;
  };
  const auto on_device = scratch_->on_device ? scratch_->on_device->bytes() : 0;
  return scratch_->space.bytes() + bytes_of(scratch_->logits) + bytes_of(scratch_->predictions) + on_device;
}

}  // namespace cogen
