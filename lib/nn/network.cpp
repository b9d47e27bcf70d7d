#include "nn/network.hpp"

#include <stdexcept>

namespace cogen::nn {

void network::encode(const cpu::forward_context&, std::span<const token>) const {
  throw std::logic_error("this model has no encoder");
}

}  // namespace cogen::nn
