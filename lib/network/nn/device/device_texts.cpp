#include "network/nn/device/device_texts.hpp"

#include "network/nn/device/step_block.hpp"
#include "network/nn/varlen_texts.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/extend/tensors.hpp>

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace cogen::nn {

namespace {

/// What a pass is given that caches nothing.
cache::device_cache no_cache(const device_network& network) {
  const cache::kv_cache_spec unread{.kind = cache::layer_kind::recurrent, .state = 1};
  return {{&unread, 1}, {.device = network.device(), .type = network.type(), .slots = 1, .max_sequence_length = 1}};
}

std::int64_t max_length(std::span<const encoder_text> texts) {
  std::int64_t longest = 0;
  for (const auto& each : texts) longest = std::max(longest, static_cast<std::int64_t>(each.tokens.size()));
  return longest;
}

}  // namespace

void embed_on_device(const device_model& model, std::span<const encoder_text> texts, const matrix_view& vectors) {
  model.backend->synchronize();
  model.backend->make_stream()->run_on_stream([&] {
    const auto& network = *model.network;
    const auto& pooling = *network.pooling();
    const auto operators = model.backend->make_operators();
    const auto cache = no_cache(network);
    const auto last = at::zeros({1}, at::TensorOptions(network.device()).dtype(at::kInt));
    const auto scratch = network.make_scratch(max_length(texts), false);
    step_block block(*model.backend, max_length(texts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const varlen_texts text(texts.subspan(i, 1), pooling);
      const auto count = static_cast<std::int64_t>(text.tokens.size());
      block.write_text(text.tokens, texts[i].second.value_or(static_cast<int>(count)), network.second_text(),
                       text.outputs);
      block.send();
      const auto states =
          network.read_texts(*operators, block.rows(), last, block.outputs(), {cache}, scratch.first(count))
              .to(at::kCPU, at::kFloat)
              .contiguous();
      text.pool(pooling, matrix_of(states), vectors.rows_from(static_cast<std::int64_t>(i), 1));
    }
  });
}

}  // namespace cogen::nn
