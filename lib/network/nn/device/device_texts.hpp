#pragma once

#include "network/nn/device/network_on_device.hpp"

#include <cogen/model.hpp>

#include <ATen/core/Tensor.h>

#include <span>

namespace cogen::nn {

/// Reads texts with a model on a device, one at a time, so that each vector is the same bits in any batch, and pools
/// their hidden states on the host. vectors [texts, width]. Has ended when it returns.
void embed_on_device(const device_model& model, std::span<const encoder_text> texts, const matrix_view& vectors);

}  // namespace cogen::nn
