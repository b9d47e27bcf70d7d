#pragma once

#include "network/models/model_spec.hpp"

#include <cogen/detail/cache/attention_span.hpp>

namespace cogen {

/// What tokens attend to in their own text, which is read as a whole.
inline cache::attention_span span_within_text(const models::attention_spec& spec) {
  auto span = cache::span_of(spec.kv);
  span.causal = span.causal && spec.causal;
  return span;
}

}  // namespace cogen
