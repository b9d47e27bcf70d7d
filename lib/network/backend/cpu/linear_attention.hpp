#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/backend/cpu/weight_reader.hpp"
#include "network/kernels/linear_attention.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::cpu {

/// How the states of heads decay with each token. Immutable.
class head_decay {
 public:
  /// Reads PREFIX + "A_log" and "dt_bias".
  head_decay(weight_reader& weights, const std::string& prefix, std::int64_t heads);

  /// steps = log(1 + exp(x + bias)), unless they are empty; decays = exp(step * rate). Each [step.tokens(), heads];
  /// results may be x.
  void operator()(const forward_context& context, const activations& x, const activations& steps,
                  const activations& decays) const;

  std::int64_t bytes() const;

 private:
  std::vector<float> rate_;  // [heads]
  std::vector<float> bias_;  // [heads]
};

/// What linear attention reads for each token of a step.
struct linear_attention_rows {
  activations q;
  activations k;
  activations v;
  activations decay;
  activations rate;
};

/// v = what each head gets out of its state, which is in those of cache layer `layer`. `operands` have the shape of
/// heads and states.
void attend(const forward_context& context, int layer, const linear_attention_rows& rows,
            kernels::linear_attention_operands operands);

}  // namespace cogen::cpu
