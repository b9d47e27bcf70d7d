#pragma once

#include "golden.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/model.hpp>
#include <cogen/token.hpp>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cogen::golden {

/// Logits as they came out: after each token of the prompt (or the last one only, where nothing more is recorded), and
/// those that each token of the continuation is chosen from. Rows of [vocabulary].
struct transcript {
  std::vector<std::vector<float>> prompt;
  std::vector<std::vector<float>> steps;

  friend bool operator==(const transcript&, const transcript&) = default;
};

/// Runs prompts and feeds the reference's continuations, so that one wrong token does not hide what comes after it.
class runner {
 public:
  /// Caches are as `memory` says; of slots and lengths they get what the prompts take.
  runner(const model& model, cache::options memory, compute_type mode = compute_type::float32)
      : model_(model), memory_(std::move(memory)), workspace_(std::nullopt, mode) {}

  compute_type mode() const { return workspace_.compute_type(); }

  /// One prompt in a cache of its own, the prompt `chunk` tokens at a time (0: at once).
  transcript alone(const reference_prompt& prompt, int chunk = 0);

  /// The same through the calls that take tokens of one sequence and no batch. Leaves the prompt's own rows out.
  transcript external_stepping(const reference_prompt& prompt);

  /// Like alone, its cache exported, cleared and imported again half-way.
  transcript swapped_out(const reference_prompt& prompt);

  /// What the layer for multi-token prediction predicts after each token of the prompt and its continuation but the
  /// last, run `chunk` tokens at a time (0: at once). Rows of [vocabulary].
  std::vector<std::vector<float>> predictions(const reference_prompt& prompt, int chunk = 0);

  /// What a beam search finds that is as wide and long as the reference's.
  std::vector<beam> beams(const reference_prompt& prompt);

  /// All prompts in one continuous batch: each begins a step later than the one before, in chunks of 7, while those
  /// before it go on.
  std::vector<transcript> together(const std::vector<reference_prompt>& prompts);

 private:
  cache::cache cache_for(std::span<const reference_prompt> prompts) const;
  void read_encoder_input(const reference_prompt& prompt, int slot, cache::cache& cache);

  const model& model_;
  cache::options memory_;
  workspace workspace_;
};

}  // namespace cogen::golden
