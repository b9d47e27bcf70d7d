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

/// What rounding activations adds to a tolerance: a third more than the most that any golden here was moved by on any
/// instruction set (README.md).
constexpr float int8_tolerance = 0.5F;       // 0.37 measured
constexpr float bf16_tolerance = 0.4F;       // 0.29 measured
constexpr float real_int8_tolerance = 1.5F;  // 1.1 measured

/// All there are, the most exact first.
const std::vector<cache_choice>& cache_choices();

/// Throws std::invalid_argument, listing the names, where none has this one.
const cache_choice& cache_choice_named(const std::string& name);

/// "f32, f16 or bf16".
std::string cache_choice_names();

}  // namespace cogen::golden
