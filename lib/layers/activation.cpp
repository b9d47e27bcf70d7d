#include "layers/activation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace cogen::layers {

namespace {

using kernels::activation;

constexpr std::array<std::pair<std::string_view, activation>, 6> names{{{"silu", activation::silu},
                                                                        {"swish", activation::silu},
                                                                        {"gelu", activation::gelu},
                                                                        {"gelu_new", activation::gelu_tanh},
                                                                        {"gelu_pytorch_tanh", activation::gelu_tanh},
                                                                        {"relu", activation::relu}}};

}  // namespace

kernels::activation activation_named(std::string_view name) {
  for (const auto& [known, kind] : names) {
    if (known == name) return kind;
  }
  throw std::invalid_argument(fmt::format("the activation \"{}\" is not known", name));
}

}  // namespace cogen::layers
