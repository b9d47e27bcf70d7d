#include "nn/network_on_device.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::nn {

network_on_device::network_on_device(device_model model) : model_(std::move(model)) {}

void network_on_device::forward(const cpu::forward_context&, std::span<const token>, std::span<const int>,
                                const cpu::activations&) const {
  throw std::logic_error(fmt::format("the model is on {}, where engines run it; forward() is for models on the cpu",
                                     model_.backend->name()));
}

std::string_view network_on_device::weight_type() const noexcept {
  switch (model_.network->type()) {
    case at::kHalf:
      return "f16";
    case at::kFloat:
      return "f32";
    default:
      return "bf16";
  }
}

}  // namespace cogen::nn
