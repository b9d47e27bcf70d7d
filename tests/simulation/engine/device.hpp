#pragma once

#include "simulation/engine/coverage.hpp"
#include "simulation/engine/model_device.hpp"
#include "simulation/engine/settings.hpp"
#include "simulation/random.hpp"
#include "simulation/script.hpp"
#include "simulation/toy_cache.hpp"

#include <cogen/extend/runner.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>

namespace cogen::engine_simulation {

/// What carries an engine's plans out: literally, on a toy cache that throws at whatever a real one could not do, and
/// in some histories on a real one, too. Lives longer than the engine, and is what the simulation holds on to.
class device {
 public:
  device(const settings& setup, coverage& seen, const simulation::log& received);

  /// The runner that an engine gets.
  static std::unique_ptr<runner> runner_on(std::shared_ptr<device> self);

  /// Whether steps launched from now on end when they are released, or where they are launched unless others are held.
  void hold(bool those_to_come) { holds_ = those_to_come; }

  /// Ends the step that has been held longest, with an error if there is one. False when none is held.
  bool release(std::exception_ptr error = nullptr);

  /// Ends one of the transfers on their way, which fails as often as the settings say. False where there is none.
  bool end_transfer(simulation::random& chance);

  /// What it fails with.
  static constexpr const char* lost = "the bus has lost it";

  /// The next launch throws this.
  void break_at_launch(std::exception_ptr with) { breaks_ = std::move(with); }

  /// How many of these tokens a slot holds at most, if it is more than the first `common`.
  int held_of(std::span<const token> tokens, std::size_t common) const;

  int filled_slots() const;

  const scheduler::toy::cache& cache() const { return cache_; }
  /// Requests may fail for want of memory, and the engine with them.
  bool refused_memory() const { return refused_memory_; }

  int held() const { return static_cast<int>(held_.size()); }

 private:
  class face;

  void launch(step& step);
  void carry_out(step& step);
  void append(const step& step, std::size_t index);
  void set_output(step& step, std::size_t index);
  void run_model(step& step);
  bool end_model_transfer(simulation::random& chance);
  void sample(step& step, std::size_t index, std::vector<float> scores);
  void check(const scheduler::step& step) const;
  void describe(const scheduler::step& step) const;

  const settings settings_;
  coverage& seen_;
  const simulation::log& log_;
  scheduler::toy::cache cache_;
  std::optional<kept_cache> kept_;
  std::optional<model_device> model_;  // lives with the engine
  std::deque<step*> held_;
  std::map<scheduler::sequence_id, token> sampled_, sampled_before_;  // by the last two steps that were carried out
  std::map<int, token> device_sampled_;  // the last that the device has sampled in each slot
  std::exception_ptr breaks_;
  swap_listener* listener_ = nullptr;  // where there is an engine
  bool holds_ = false;
  bool refused_memory_ = false;
};

}  // namespace cogen::engine_simulation
