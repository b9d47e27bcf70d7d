#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>
#include <vector>

namespace cogen::models {

inline constexpr load::real_range query_scalars{1e-6, 1e6};

/// What only a Gemma 3 (arXiv:2503.19786) has.
struct gemma3_fields {
  std::vector<bool> slides;  // [layers]: the layer sees a window only, and its positions are rotated by `local`
  load::rope_config local;
  double query_scalar = 0;  // queries are divided by its square root
  double logit_cap = 0;     // logits become cap * tanh(logits / cap); 0: they stay as they are
  bool causal = true;       // if not, it embeds, and half of the window lies on either side of a token
};

/// Every `pattern`-th layer has no window if the file says nothing of that. Throws load_error.
gemma3_fields read_gemma3_fields(const load::config_fields& fields, const load::model_config& config,
                                 std::int64_t pattern = 6);

}  // namespace cogen::models
