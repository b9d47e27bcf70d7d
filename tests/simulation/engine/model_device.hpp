#pragma once

#include "engine/runner/model_runner.hpp"
#include "simulation/engine/settings.hpp"
#include "simulation/toy_cache.hpp"

#include <cogen/detail/cache/transfer.hpp>
#include <cogen/extend/runner.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::engine_simulation {

/// A real model and its cache under the plans that a toy cache carries out. Its transfers end when they are told to,
/// and some of its steps are refused memory.
class model_device {
 public:
  /// `ended` hears of transfers before the engine does.
  using transfer_end = std::function<void(scheduler::swap_id name, bool ok)>;

  model_device(const settings& setup, transfer_end ended);
  ~model_device();
  model_device(const model_device&) = delete;
  model_device& operator=(const model_device&) = delete;

  /// Carries all of a step out, but does not end it. Throws what the runner throws.
  void run(step& step);

  /// Throws std::logic_error where a slot of the real cache has another length than that of the toy. One that is
  /// being filled has its length from the beginning.
  void check(const scheduler::toy::cache& other) const;

  bool transfers() const { return transfer_->waiting() > 0; }

  /// Ends the transfer that began first, with an error if there is one.
  void end_transfer(std::exception_ptr error);

  /// How many allocations the step of this number is allowed, if not any number.
  std::optional<int> allocations_in(std::uint64_t step) const;

  /// Some step was refused memory that it asked for.
  bool refused_memory() const { return refused_memory_; }

  std::vector<std::byte> snapshot(scheduler::swap_id name) const;
  void keep(scheduler::swap_id name, std::vector<std::byte> bytes, int encoder_input);

 private:
  class listener;

  void launch(step& inner);

  const settings settings_;
  const std::shared_ptr<cache::manual_transfer> transfer_ = std::make_shared<cache::manual_transfer>();
  const std::shared_ptr<detail::cpu_slots> slots_;
  std::unique_ptr<listener> listener_;
  detail::model_runner runner_;
  bool refused_memory_ = false;
};

}  // namespace cogen::engine_simulation
