#include "network/nn/device_networks.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace cogen::nn {

namespace {

constinit device_network_reader registered = nullptr;

}  // namespace

void register_devices(device_network_reader reader) noexcept { registered = reader; }

device_network_reader registered_devices(std::string_view device) {
  if (registered) return registered;
  throw std::invalid_argument(
      fmt::format("device \"{}\": this program has no devices but \"cpu\"; link cogen::torch for the others", device));
}

}  // namespace cogen::nn
