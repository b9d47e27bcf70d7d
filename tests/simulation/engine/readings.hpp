#pragma once

#include "simulation/engine/world.hpp"

namespace cogen::engine_simulation {

/// What a reader asks for, and what it must get.
struct reading {
  request asked;
  generation_parts parts;
  token tag = 0;        ///< its client's own
  int common = 0;       ///< the tokens before that
  bool shares = false;  ///< what others have had run, where anything does
  generation expected;  ///< alone; its code is that of a refusal, where the request makes no sense
};

/// Of half of the clients, in some histories; null of the others.
std::unique_ptr<guide> draw_guide(world& stage, random& chance);

/// A request that makes sense for this engine.
reading draw_reading(world& stage, random& chance);

/// One that does not.
reading draw_refused_reading(world& stage, random& chance);

/// Of which tenant, with which salt.
struct affiliation {
  std::uint64_t tenant = 0;
  std::optional<std::string> cache_salt = {};
};

/// For a sequence under its owner's control.
affiliation draw_affiliation(const random& chance);

/// What a sequence of the client that comes in this action begins with: a tag of its own, often after a prefix that
/// others begin with, too.
std::vector<token> draw_beginning(world& stage, random& chance);

/// Greedy, or with a seed.
sampling_params draw_sampling(random& chance);

/// Words of the model.
std::vector<token> sampling_words(world& stage, random& chance, int count);

}  // namespace cogen::engine_simulation
