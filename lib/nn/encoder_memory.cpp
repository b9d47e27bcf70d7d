#include "nn/encoder_memory.hpp"

#include <span>
#include <utility>

namespace cogen::nn {

namespace {

cache::step numbered(const cache::step& step) {
  std::vector<cache::step_row> rows(step.rows().begin(), step.rows().end());
  for (std::size_t index = 0; index < rows.size(); ++index) rows[index].slot = static_cast<int>(index);
  return cache::step(rows);
}

cache::options options_for(const cpu::forward_context& context) {
  const auto longest = static_cast<int>(context.reach());
  return {.type = cache::scalar::f32,
          .slots = static_cast<int>(context.rows.size()),
          .max_sequence_length = longest,
          .max_encoder_length = longest};
}

}  // namespace

encoder_memory::encoder_memory(const cpu::forward_context& context, const cache::kv_cache_spec& shape)
    : step(numbered(context.step)),
      memory(std::span(&shape, 1), options_for(context)),
      rows(context.rows.begin(), context.rows.end()) {
  memory.reserve_encoder(step);
}

}  // namespace cogen::nn
