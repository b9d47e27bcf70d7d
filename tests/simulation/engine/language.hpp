#pragma once

#include "sampling/random_stream.hpp"
#include "sampling/sampler.hpp"
#include "simulation/engine/lone_model.hpp"
#include "simulation/toy_model.hpp"

#include <cogen/error.hpp>
#include <cogen/metrics.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::engine_simulation {

/// The toy model as an engine sees it, with scores instead of tokens; or a real model.
struct language {
  static constexpr int tags =
      64;  ///< tokens after the model's words, which say whose a sequence is; hardly ever sampled

  scheduler::toy::model model;
  std::optional<token> poison;        ///< a sequence that holds it gets NaN for scores
  std::shared_ptr<lone_model> alone;  ///< whose scores these are, where there is one

  int words() const { return model.vocabulary; }
  int vocabulary() const { return alone ? spelled() : 2 * spelled(); }

  /// The other name of a token of the toy model, and the first one. What is said in other names goes on in them, and in
  /// the same way.
  token other_name(token id) const { return id + spelled(); }
  token first_name(token id) const { return alone || id < spelled() ? id : id - spelled(); }

  std::vector<float> scores(std::span<const token> history, std::span<const token> encoder_input) const;

 private:
  int spelled() const { return words() + tags; }
};

/// What is sampled after a history alone; nothing where there is nothing to sample from.
std::optional<token> sampled_alone(const language& spoken, const sampler& source, token_history& history,
                                   std::span<const token> encoder_input, const sampling_key& key);

/// How a generation goes alone.
struct generation {
  std::vector<token> tokens;
  finish_reason reason = finish_reason::length;
  error_code code;
};

struct generation_parts {
  std::vector<token> prompt;
  std::vector<token> encoder_input;
  std::vector<token> end_tokens;
  int max_tokens = 0;
  sampling_params params;  ///< with a seed, where it is not greedy
};

generation generated_alone(const language& spoken, const generation_parts& parts);

}  // namespace cogen::engine_simulation
