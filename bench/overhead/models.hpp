#pragma once

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <memory>
#include <optional>

namespace overhead {

/// An engine whose model takes no time: at every step the same `scores` [vocabulary], of which only a sample makes a
/// token.
cogen::engine_parts no_model(std::shared_ptr<std::vector<float>> scores, int requests);

/// Scores as far apart as a model's are.
std::shared_ptr<std::vector<float>> some_scores(int vocabulary);

/// An engine of a real model on the processor, with its tokenizer, as engine(model) makes it but for what is swapped
/// out.
cogen::engine_parts real_model(const std::shared_ptr<const cogen::model>& model, int requests,
                               std::optional<int> threads);

}  // namespace overhead
