#include "formats/checkpoint/module_parts.hpp"

namespace cogen::load {

const tensor_info* module_parts::codes() const noexcept {
  if (turned != nullptr) return turned;
  return packed != nullptr ? packed : weight;
}

}  // namespace cogen::load
