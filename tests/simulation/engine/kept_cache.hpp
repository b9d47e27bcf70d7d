#pragma once

#include "simulation/toy_cache.hpp"

#include <cogen/cache/cache.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cogen::engine_simulation {

using scheduler::token;

/// Which layers a real cache has.
enum class cache_kind {
  none,
  full,
  sliding,
  chunked,
  mixed,
  recurrent,
  sinks,
  packed,
  packed_sliding,
  offloaded,
  count
};

std::string name_of(cache_kind kind);

/// What a real cache of an engine is made of.
struct kept_options {
  cache_kind kind = cache_kind::none;
  int window = 1;  ///< of those that have one
  int max_step_tokens = 1;
  int max_rollback_tokens = 0;
};

/// For so many slots of such a length.
cache::cache make_cache(const kept_options& kept, const scheduler::limits& within);

/// A real cache under the plans that a toy cache carries out: keys and values are the tokens, and a state follows from
/// all of them. Throws what the cache throws, and std::logic_error where a layer holds something else than it should.
class kept_cache {
 public:
  using bytes = std::vector<std::byte>;

  kept_cache(const kept_options& options, const scheduler::limits& within)
      : cache_(make_cache(options, within)), kind_(options.kind) {}

  /// All of a plan but its rows. Transfers are carried out at once.
  void apply(const scheduler::step& step);

  /// The plan's rows, whose tokens the toy cache holds already.
  void run(const scheduler::step& step, const scheduler::toy::cache& received);

  /// A transfer has ended; what it brought is lost where it fails.
  void end(scheduler::swap_id name, bool ok);

  const bytes& snapshot(scheduler::swap_id name) const { return kept_.at(name); }
  void keep(scheduler::swap_id name, bytes exported) { kept_[name] = std::move(exported); }

 private:
  void write(const cache::step& step, const scheduler::toy::cache& received);
  void write_states(cache::layer& layer, const cache::step& step, const scheduler::toy::cache& received);
  void check(int slot, std::span<const token> content) const;

  cache::cache cache_;
  cache_kind kind_;
  std::map<scheduler::swap_id, bytes> kept_;
  std::map<scheduler::swap_id, int> filling_;  // the slots that transfers on their way fill
};

}  // namespace cogen::engine_simulation
