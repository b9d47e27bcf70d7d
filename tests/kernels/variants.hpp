#pragma once

#include "kernels/execution.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cogen::kernels {

inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed, float scale = 1.0F) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

/// Runs a check once for each instruction set of this machine; Boost.Test's messages name the set.
template <class Check>
void for_each_set(worker_pool& workers, Check check) {
  for (const instruction_set set : available_instruction_sets()) {
    BOOST_TEST_CONTEXT("instruction set " << name_of(set)) { check(execution{&workers, set}); }
  }
}

}  // namespace cogen::kernels
