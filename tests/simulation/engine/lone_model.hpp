#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/model.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::engine_simulation {

/// A model without an engine: each sequence runs alone, token by token, in a slot that nothing else has touched.
class lone_model {
 public:
  /// `like` is how the engine's own cache keeps tokens.
  lone_model(std::shared_ptr<const model> subject, const cache::options& like);

  /// The logits after the last token of `history`, of which there is at least one. [vocabulary] NaN after tokens that
  /// the model does not know, or more than it can hold.
  std::vector<float> scores(std::span<const token> history, std::span<const token> encoder_input);

 private:
  struct sequence {
    std::vector<token> encoder_input;
    std::vector<token> tokens;
    std::vector<float> scores;  // after the last of them
    std::uint64_t used = 0;
  };

  bool can_run(std::span<const token> tokens) const;
  int slot_for(std::span<const token> history, std::span<const token> encoder_input);
  void begin(int slot, std::span<const token> encoder_input);
  void append(int slot, token next);

  const std::shared_ptr<const model> model_;
  cache::cache cache_;
  workspace workspace_;
  std::vector<sequence> sequences_;  // one in each slot
  std::uint64_t uses_ = 0;
};

}  // namespace cogen::engine_simulation
