#include "network/nn/network.hpp"

#include <stdexcept>

namespace cogen::nn {

void network::predict(const batch&, cache::cache&, scratch&, const matrix_view&) const {
  throw std::logic_error("this model has no layer for multi-token prediction");
}

void network::encode(const encoder_batch&, cache::cache&, scratch&) const {
  throw std::logic_error("this model has no encoder");
}

void network::embed(std::span<const encoder_text>, scratch&, const matrix_view&) const {
  throw std::logic_error("this model makes no vectors of texts");
}

}  // namespace cogen::nn
