#pragma once

#include "golden.hpp"
#include "runs.hpp"

#include <string>
#include <vector>

namespace cogen::golden {

/// What comparing one model with its references came to.
struct verdict {
  float worst = 0;       // greatest difference of a logit, or of a beam's score
  int tokens = 0;        // greedy choices compared
  int same_tokens = 0;   // of them equal to the reference's
  int wrong_tokens = 0;  // different although the reference's margin is over twice the tolerance
  int beams = 0;         // continuations that beam searches found
  int same_beams = 0;    // of them equal to the reference's
  int wrong_beams = 0;   // different although the reference's score is over twice the tolerance from its neighbors'
  bool bad_number = false;
  bool unlike_engine = false;        // loops by hand gave other bits than an engine
  std::vector<std::string> changed;  // ways of running that did not give the same bits as running alone

  verdict& operator+=(const verdict& other);

  bool passes(float tolerance) const {
    return worst <= tolerance && wrong_tokens == 0 && wrong_beams == 0 && !bad_number && !unlike_engine &&
           changed.empty();
  }
};

/// Adds what one prompt's transcript came to.
void compare(verdict& so_far, const transcript& came, const reference_prompt& reference, float tolerance);

/// Runs all prompts in every way and compares: alone, in chunks of 1, 3 and 7, swapped out and restored, by hand (which
/// is exact always), together; and beam searches where the reference has them.
verdict judge(runner& run, const golden& reference, float tolerance);

}  // namespace cogen::golden
