#pragma once

#include <cogen/cache/cache.hpp>

#include <string>
#include <vector>

namespace cogen::golden {

/// A way of remembering that models are checked with.
struct cache_choice {
  std::string name;       // as --kv says it
  cache::options memory;  // all but slots and lengths
  float tolerance;        // greatest difference that passes, of logits with a standard deviation of 2
  float real_tolerance;   // the same for a real model, whose many layers round more often
};

/// What numerics::fast adds to a tolerance.
constexpr float fast_tolerance = 0.5F;
constexpr float real_fast_tolerance = 2.0F;

/// All there are, the most exact first.
const std::vector<cache_choice>& cache_choices();

/// Throws std::invalid_argument, listing the names, where none has this one.
const cache_choice& cache_choice_named(const std::string& name);

/// "f32, f16 or bf16".
std::string cache_choice_names();

}  // namespace cogen::golden
