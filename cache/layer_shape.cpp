#include <cogen/cache/layer_shape.hpp>

#include <stdexcept>
#include <string>

namespace cogen::cache {
namespace {

constexpr std::int64_t widest_token = std::int64_t{1} << 24;

}  // namespace

void check(const layer_shape& shape) {
  const std::string dimensions = std::to_string(shape.kv_heads) + " key heads of " + std::to_string(shape.head_dim);
  if (shape.kv_heads < 1 || shape.head_dim < 1)
    throw std::invalid_argument("cache: a layer has " + dimensions + ", both have to be at least 1");
  if (std::int64_t{shape.kv_heads} * shape.head_dim > widest_token)
    throw std::invalid_argument("cache: a layer has " + dimensions + ", together they may be " +
                                std::to_string(widest_token));
}

}  // namespace cogen::cache
