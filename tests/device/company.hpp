#pragma once

#include <cogen/engine_options.hpp>
#include <cogen/model.hpp>

#include <memory>
#include <vector>

namespace cogen::test {

/// How a sequence is run.
struct company {
  const char* name;
  int at_once;     ///< tokens that are given at a time
  int requests;    ///< requests beside it
  bool suspended;  ///< it is swapped out after each piece
};

inline constexpr company alone{"alone", 50, 0, false};
inline constexpr company companies[] = {{"in pieces, beside others", 7, 3, false},
                                        {"token by token, beside others", 1, 3, false},
                                        {"swapped out, beside others", 11, 2, true}};

/// The logits after each of 50 tokens, in an engine of such options; they say whether it is batch-invariant.
std::vector<float> logits_in(const company& setting, const std::shared_ptr<const model>& model, engine_options options);

bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace cogen::test
