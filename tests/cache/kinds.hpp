#pragma once

#include <cogen/cache/cache.hpp>

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace cogen::cache::test {

/// One cache kind in one number format, as the conformance suite sees it.
struct kind {
  std::string name;
  scalar type;
  bool keeps_all;  ///< every token stays as it is: a slot can return to any length, others can read it in place
  bool in_place;   ///< views are handed out, and memory is the cache's own
  std::function<cache(std::span<const kv_cache_spec> shapes, int slots, int max_sequence_length)> make;
};

std::ostream& operator<<(std::ostream& out, const kind& kind);

/// Drafts that a row of any kind may have.
constexpr int max_drafts = 3;

/// Every kind in every number format: a further one joins the suite by a line in kinds.cpp.
const std::vector<kind>& kinds();

/// Those that keep every token as it is, and of these those that hand out views.
std::vector<kind> kinds_that_keep_all();
std::vector<kind> kinds_in_place();

/// Layers of different shapes, as in a model whose layers differ.
std::span<const kv_cache_spec> mixed_shapes();

}  // namespace cogen::cache::test
