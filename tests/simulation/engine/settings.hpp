#pragma once

#include "simulation/engine/kept_cache.hpp"
#include "simulation/engine/language.hpp"
#include "simulation/random.hpp"
#include "simulation/toy_cache.hpp"

#include <cogen/extend/runner.hpp>
#include <cogen/model.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cogen::engine_simulation {

using simulation::random;

constexpr const char* common_salt = "2";  ///< of several tenants

/// Longer than most histories: who is preempted before that was displaced.
constexpr std::chrono::milliseconds long_idle_timeout(100);

/// What differs from one history to the next, sampled from its seed.
struct settings {
  scheduler::limits within;
  scheduler::toy::ring rings;
  kept_options kept;
  std::shared_ptr<const model> over;  ///< what computes, instead of the toy model
  cache::options kept_by_model;       ///< its cache
  std::uint64_t refusals = 0;         ///< says which of its steps
  int refusing = 0;                   ///< percent of them are refused memory
  language spoken;
  std::vector<token> end_tokens;  ///< by all their names
  std::optional<encoder_spec> encoder_inputs;
  int max_sequences = 0;
  int holding = 0;        ///< percent of the steps that do not end where they are launched
  int losing = 0;         ///< percent of the transfers
  bool late = false;      ///< held steps are carried out when they end, not when they are launched
  bool sampling = false;  ///< the device samples by itself what was described to it
  int postponing = 0;     ///< percent of the calls of guides, which half of the clients have; 0: none has one
  bool urgent = false;    ///< some requests are more so than others, and may displace those
  std::optional<scheduler::watermark_options> marks;  ///< memory is set aside as sequences grow
  clock::duration boost{};                            ///< what a level of that counts for
  std::vector<std::vector<token>> prefixes;           ///< what many prompts begin with
  int actions = 0;                                    ///< before everything is brought to an end
  int max_live = 0;                                   ///< clients at the same time
  bool snapshots = false;                             ///< what is cached goes into sessions
  /// Whose requests are in other names, but for those of a salt that tenants have in common.
  std::optional<std::uint64_t> renamed_tenant = {};
  bool misfortunes = false;  ///< the device may fail, the engine be stopped or destroyed
};

/// Over the toy model, or a real one.
settings draw(random& chance, const std::shared_ptr<const model>& over = nullptr);

std::string describe(const settings& setup);

}  // namespace cogen::engine_simulation
