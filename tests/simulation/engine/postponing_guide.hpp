#pragma once

#include "answers/grammar/bounded_work.hpp"
#include "simulation/engine/coverage.hpp"
#include "simulation/random.hpp"

#include <cogen/guide.hpp>

#include <cstdint>
#include <memory>

namespace cogen::engine_simulation {

/// Allows everything; some of its calls take longer than a step may wait.
class postponing_guide final : public guide {
 public:
  /// `percent` of the calls, as the seed says.
  postponing_guide(int percent, std::uint64_t seed, coverage& seen) : percent_(percent), numbers_(seed), seen_(&seen) {}

  bool allow(std::span<std::uint64_t>) override {
    take_time();
    return false;
  }

  void accept(token) override { take_time(); }
  void roll_back(int) override { take_time(); }
  std::unique_ptr<guide> clone() const override { return std::make_unique<postponing_guide>(*this); }
  bool is_complete() const override { return true; }

 private:
  void take_time() {
    if (!grammar::brief_work::left() || !numbers_.chance(percent_)) return;
    seen_->visit(feature::postponed);
    throw guide_postponed();
  }

  int percent_;
  simulation::random numbers_;
  coverage* seen_;
};

}  // namespace cogen::engine_simulation
