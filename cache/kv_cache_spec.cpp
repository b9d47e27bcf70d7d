#include <cogen/detail/cache/kv_cache_spec.hpp>

#include <stdexcept>
#include <string>

namespace cogen::cache {
namespace {

constexpr std::int64_t max_numbers = std::int64_t{1} << 24;

void check_heads(const kv_cache_spec& shape) {
  const std::string dimensions = std::to_string(shape.kv_heads) + " key heads of " + std::to_string(shape.head_dim);
  if (shape.kv_heads < 1 || shape.head_dim < 1)
    throw std::invalid_argument("cache: a layer has " + dimensions + ", both have to be at least 1");
  if (std::int64_t{shape.kv_heads} * shape.head_dim > max_numbers)
    throw std::invalid_argument("cache: a layer has " + dimensions + ", together they may be " +
                                std::to_string(max_numbers));
  if (shape.latent_dim < 0 || shape.latent_dim > shape.head_dim)
    throw std::invalid_argument("cache: a layer's values are the first " + std::to_string(shape.latent_dim) +
                                " numbers of keys of " + std::to_string(shape.head_dim));
}

void check_window(const kv_cache_spec& shape) {
  const bool has_one = shape.kind == layer_kind::sliding || shape.kind == layer_kind::chunked;
  if (has_one ? shape.window < 1 : shape.window != 0)
    throw std::invalid_argument("cache: a layer has a window of " + std::to_string(shape.window) +
                                (has_one ? ", it has to be at least 1" : ", only sliding and chunked layers have one"));
}

void check_state(const kv_cache_spec& shape) {
  if (shape.state < 1 || shape.state > max_numbers)
    throw std::invalid_argument("cache: a recurrent layer has a state of " + std::to_string(shape.state) +
                                " numbers, it may have 1 to " + std::to_string(max_numbers));
  if (shape.kv_heads != 0 || shape.head_dim != 0)
    throw std::invalid_argument("cache: a recurrent layer has " + std::to_string(shape.kv_heads) + " key heads of " +
                                std::to_string(shape.head_dim) + ", both have to be 0");
  if (shape.latent_dim != 0)
    throw std::invalid_argument("cache: a recurrent layer has values of " + std::to_string(shape.latent_dim) +
                                " numbers, it has none");
}

}  // namespace

void check(const kv_cache_spec& shape) {
  check_window(shape);
  if (shape.kind == layer_kind::recurrent) return check_state(shape);
  if (shape.state != 0)
    throw std::invalid_argument("cache: a layer has a state of " + std::to_string(shape.state) +
                                " numbers, only recurrent layers have one");
  check_heads(shape);
}

}  // namespace cogen::cache
