#pragma once

#include "../sanitizers.hpp"
#include "network/kernels/execution.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::kernels {

inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed, float scale = 1.0F) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

inline bool same_bits(const float* a, const float* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(float)) == 0;
}

inline constexpr std::string_view emulated = "emulated_";

/// Each instruction set once: by instruction where the processor has it, else emulated, where this build does that.
/// Under ThreadSanitizer one of them: which threads meet where does not depend on it.
inline std::vector<instruction_set> tested_instruction_sets() {
  std::vector<instruction_set> sets = available_instruction_sets();
  if (cogen::test::thread_sanitized) sets.resize(1);
  for (const instruction_set emulation : emulated_instruction_sets()) {
    const std::string_view plain = name_of(emulation).substr(emulated.size());
    if (instruction_set_named(plain) == emulation) sets.push_back(emulation);
  }
  return sets;
}

/// Runs a check for each of them; Boost.Test's messages name the set.
template <class Check>
void for_each_set(worker_pool& workers, Check check) {
  for (const instruction_set set : tested_instruction_sets()) {
    BOOST_TEST_CONTEXT("instruction set " << name_of(set)) { check(execution{&workers, set}); }
  }
}

/// Compares, bit for bit, what each instruction set of the processor computes with what its emulation computes.
/// `compute` takes an execution and returns a vector of float.
template <class Compute>
void check_emulations(worker_pool& workers, Compute compute) {
  if (emulated_instruction_sets().empty()) BOOST_TEST_MESSAGE("SKIPPED: this build emulates no instruction set");
  for (const instruction_set emulation : emulated_instruction_sets()) {
    const instruction_set set = instruction_set_named(name_of(emulation).substr(emulated.size()));
    if (set == emulation) continue;
    const std::vector<float> expected = compute(execution{&workers, set});
    const std::vector<float> came = compute(execution{&workers, emulation});
    BOOST_TEST_CONTEXT(name_of(emulation)) {
      BOOST_REQUIRE(came.size() == expected.size());
      for (std::size_t index = 0; index < came.size(); ++index)
        BOOST_REQUIRE_MESSAGE(
            std::bit_cast<std::uint32_t>(came[index]) == std::bit_cast<std::uint32_t>(expected[index]),
            "number " << index << " is " << came[index] << " instead of " << expected[index]);
    }
  }
}

}  // namespace cogen::kernels
