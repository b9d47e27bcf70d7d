#include "models/pipeline_stage.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <variant>
#include <vector>

namespace cogen::models {

namespace {

bool mixes_tokens(const block_spec& block) {
  return std::visit([](const auto& what) { return requires { what.kv; } || requires { what.kv(); }; }, block.what);
}

bool reads_encoder_input(const block_spec& block) {
  const auto* attention = std::get_if<attention_spec>(&block.what);
  return attention != nullptr && attention->kv.kind == cache::layer_kind::cross;
}

/// Where layers begin that read nothing but the result of what is before them.
std::vector<std::size_t> cuts(const std::vector<block_spec>& blocks) {
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    const auto& block = blocks[index];
    const bool follows = index > 0 && blocks[index - 1].passes != passed_on::nothing;
    if (mixes_tokens(block) && !reads_encoder_input(block) && !block.parallel && !follows) found.push_back(index);
  }
  return found;
}

[[noreturn]] void refuse(const char* what) {
  throw std::invalid_argument(
      fmt::format("load_options.parallel.pipeline is over 1; stages of a pipeline do not run {}", what));
}

void check(const model_spec& spec) {
  if (spec.layer_inputs) refuse("a model whose layers read the tokens besides hidden states");
  if (spec.streams) refuse("a model with several streams of hidden states");
  if (spec.pooling) refuse("a model that makes vectors of texts");
  for (const auto& block : spec.blocks)
    if (const auto* attention = std::get_if<attention_spec>(&block.what); attention && attention->reads_embeddings)
      refuse("a model whose layers read embeddings besides hidden states");
}

/// Layers of the cache are counted from the stage's first one.
void renumber(model_spec& stage, int first_layer) {
  for (auto& block : stage.blocks) {
    auto* const attention = std::get_if<attention_spec>(&block.what);
    if (!attention || !attention->shared_kv) continue;
    *attention->shared_kv -= first_layer;
    if (*attention->shared_kv < 0) refuse("a layer that reads keys and values of another stage's");
  }
}

}  // namespace

model_spec stage_of(model_spec spec, parallel::place stage) {
  if (stage.count == 1) return spec;
  check(spec);
  const auto starts = cuts(spec.blocks);
  const auto layers = starts.size(), stages = static_cast<std::size_t>(stage.count);
  if (layers < stages)
    throw std::invalid_argument(
        fmt::format("load_options.parallel.pipeline is {}; this model has {} layers to deal out", stage.count, layers));
  const auto begin_of = [&](std::size_t index) {
    if (index == 0) return std::size_t{0};
    return index == stages ? spec.blocks.size() : starts[layers * index / stages];
  };
  const auto index = static_cast<std::size_t>(stage.index);
  const auto begin = spec.blocks.begin() + static_cast<std::ptrdiff_t>(begin_of(index));
  const auto end = spec.blocks.begin() + static_cast<std::ptrdiff_t>(begin_of(index + 1));
  const std::vector<block_spec> before(spec.blocks.begin(), begin);
  spec.blocks = std::vector<block_spec>(begin, end);
  renumber(spec, static_cast<int>(kv_cache_specs({.blocks = before}).size()));
  return spec;
}

}  // namespace cogen::models
