#include "network/nn/kept_sinks.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

namespace cogen::nn {

bool keeps_sinks(const models::model_spec& spec) {
  return std::ranges::none_of(spec.blocks, [](const models::block_spec& block) {
    const auto* const attends = std::get_if<models::attention_spec>(&block.part);
    const bool has_sinks = attends && attends->kv.kind == cache::layer_kind::full;
    return has_sinks && attends->rope && attends->qk_norm && attends->qk_norm->after_rope;
  });
}

void refuse_sinks() {
  throw std::invalid_argument("kv.sinks is set; this model norms keys after they are rotated, and such keys keep none");
}

}  // namespace cogen::nn
