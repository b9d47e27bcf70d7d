#pragma once

#include "../devices.hpp"
#include "external_stepping.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

/// A tiny golden model; the same object each time.
std::shared_ptr<const model> golden_model(const std::string& name, const std::string& device = "cpu");

/// Tokens of the model's vocabulary, the same for the same seed; those of an answer beside an encoder input begin as
/// answers do.
std::vector<token> some_tokens(const model& model, int count, unsigned seed);

/// What a model with an encoder reads in tests, and nothing for other models.
std::vector<token> source_for(const model& model, unsigned seed = 0);

/// An empty sequence, beside source_for(model) where the model has an encoder.
sequence open(engine& running, const model& model);

/// Options that tests begin with: external stepping, float32, one thread, small steps and little rollback limit.
engine_options tiny_engine();

/// The same, with sequences no longer than the model's.
engine_options tiny_engine(const model& model);

/// A cache of one slot that is kept as such an engine keeps its own.
cache::cache cache_like(const model& model, const engine_options& options);

/// The logits after the last token, in a cache of its own, beside source_for(model).
std::vector<float> logits_after(const model& model, const engine_options& options, const std::vector<token>& tokens);

/// The greedy continuation by a loop of model.forward() alone, beside source_for(model, encoder
/// input).
std::vector<token> loop_by_hand(const model& model, const engine_options& options, const std::vector<token>& prompt,
                                int count, unsigned encoder_input = 0);

}  // namespace cogen::test
