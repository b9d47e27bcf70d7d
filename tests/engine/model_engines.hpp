#pragma once

#include "by_hand.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

/// A tiny golden model; the same object each time.
std::shared_ptr<const model> golden_model(const std::string& name);

/// Tokens of the model's vocabulary, the same for the same seed.
std::vector<token> some_tokens(const model& model, int count, unsigned seed);

/// Options that tests begin with: driven by hand, float32, one thread, small steps and little slack.
engine_options tiny_engine();

/// A cache of one slot that is kept as such an engine keeps its own.
cache::cache cache_like(const model& model, const engine_options& options);

/// The logits after the last token, in a cache of its own.
std::vector<float> logits_after(const model& model, const engine_options& options, const std::vector<token>& tokens);

/// The greedy continuation by a loop of model.forward() with nobody else around.
std::vector<token> loop_by_hand(const model& model, const engine_options& options, const std::vector<token>& prompt,
                                int count);

}  // namespace cogen::test
