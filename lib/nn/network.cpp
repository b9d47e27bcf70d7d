#include "nn/network.hpp"

#include <stdexcept>

namespace cogen::nn {

void network::encode(const encoder_batch&, cache::cache&, scratch&) const {
  throw std::logic_error("this model has no encoder");
}

}  // namespace cogen::nn
