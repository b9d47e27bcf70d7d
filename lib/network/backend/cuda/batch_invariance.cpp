#include "network/backend/cuda/batch_invariance.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace cogen::device {

void refuse_batch_invariance(std::string_view parts) {
  throw std::invalid_argument(fmt::format("batch_invariant is set; CUDA devices do not compute {} so", parts));
}

}  // namespace cogen::device
