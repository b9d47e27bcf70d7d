#pragma once

#include "network/models/norm_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cogen::models {

/// y = norm(f(x W^T + bias)). Its name is complete.
struct dense_spec {
  enum class function : std::uint8_t { none, tanh, gelu, relu };

  std::string name;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = true;
  function activation = function::none;
  std::optional<norm_spec> norm = {};
};

/// How the hidden states of a text become one vector: their mean, or the first (cls) or last token's; then the dense
/// layers, in order.
struct pooling_spec {
  enum class kind : std::uint8_t { mean, cls, last };

  kind type = kind::mean;
  std::vector<dense_spec> dense = {};
  bool normalize = false;  ///< the vector is divided by its length
  bool scores = false;     ///< it is a number, the score of a pair of texts
};

}  // namespace cogen::models
