#include "network/models/pipeline_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <variant>
#include <vector>

namespace cogen::models {

namespace {

bool mixes_tokens(const block_spec& block) {
  return std::visit([](const auto& part) { return requires { part.kv; } || requires { part.kv(); }; }, block.part);
}

bool reads_encoder_input(const block_spec& block) {
  const auto* attention = std::get_if<attention_spec>(&block.part);
  return attention != nullptr && attention->kv.kind == cache::layer_kind::cross;
}

/// Where layers begin that read nothing but the result of what is before them.
std::vector<std::size_t> cuts(const std::vector<block_spec>& blocks) {
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    const auto& block = blocks[index];
    const bool follows = index > 0 && blocks[index - 1].feeds_next != feed::nothing;
    if (mixes_tokens(block) && !reads_encoder_input(block) && !block.parallel && !follows) found.push_back(index);
  }
  return found;
}

const attention_spec* attention_of(const block_spec& block) { return std::get_if<attention_spec>(&block.part); }

/// Layers of the cache that the blocks before one have.
int layers_before(const std::vector<block_spec>& blocks, std::size_t index) {
  return static_cast<int>(
      kv_cache_specs({.blocks = {blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(index)}}).size());
}

/// Whether no block from `index` on reads keys and values of one before.
bool keeps_shared_kv(const std::vector<block_spec>& blocks, std::size_t index) {
  const int first_layer = layers_before(blocks, index);
  return std::all_of(blocks.begin() + static_cast<std::ptrdiff_t>(index), blocks.end(), [&](const auto& block) {
    const auto* attention = attention_of(block);
    return !attention || !attention->shared_kv || *attention->shared_kv >= first_layer;
  });
}

/// Where each stage begins: dealt out evenly, but those that share keys and values are in one stage.
std::vector<std::size_t> beginnings(const std::vector<block_spec>& blocks, std::size_t stages) {
  const auto starts = cuts(blocks);
  if (starts.size() < stages)
    throw std::invalid_argument(fmt::format(
        "load_options.parallel.pipeline is {}; this model has {} layers to deal out", stages, starts.size()));
  std::vector<std::size_t> found{0};
  for (std::size_t stage = 1; stage < stages; ++stage) {
    auto start = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() * stage / stages);
    while (start != starts.begin() && !keeps_shared_kv(blocks, *start)) --start;
    if (start == starts.begin() || *start <= found.back())
      throw std::invalid_argument(fmt::format(
          "load_options.parallel.pipeline is {}; too many layers of this model share keys and values", stages));
    found.push_back(*start);
  }
  found.push_back(blocks.size());
  return found;
}

}  // namespace

bool reads_embeddings(const model_spec& spec) {
  return spec.layer_inputs || std::ranges::any_of(spec.blocks, [](const auto& block) {
           const auto* attention = attention_of(block);
           return attention && attention->reads_embeddings;
         });
}

model_spec stage_of(model_spec spec, parallel::place stage) {
  if (stage.count == 1) return spec;
  if (spec.pooling)
    throw std::invalid_argument(
        "load_options.parallel.pipeline is over 1; stages of a pipeline do not run a model that makes vectors of "
        "texts");
  const auto begins = beginnings(spec.blocks, static_cast<std::size_t>(stage.count));
  const auto index = static_cast<std::size_t>(stage.index);
  const int first_layer = layers_before(spec.blocks, begins[index]);
  spec.blocks = std::vector<block_spec>(spec.blocks.begin() + static_cast<std::ptrdiff_t>(begins[index]),
                                        spec.blocks.begin() + static_cast<std::ptrdiff_t>(begins[index + 1]));
  for (auto& block : spec.blocks)  // layers of the cache are counted from the stage's first one
    if (auto* const attention = std::get_if<attention_spec>(&block.part); attention && attention->shared_kv)
      *attention->shared_kv -= first_layer;
  return spec;
}

}  // namespace cogen::models
