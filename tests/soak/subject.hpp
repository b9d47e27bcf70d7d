#pragma once

#include "options.hpp"

#include <cogen/engine.hpp>

#include <memory>
#include <vector>

namespace cogen::soak {

/// A prompt, and what the model says to it with nobody else around.
struct story {
  std::vector<token> prompt;
  std::vector<token> continuation;
};

/// An engine on a thread of its own, and what it should say.
struct subject {
  std::unique_ptr<cogen::engine> running;
  std::vector<story> stories;
  int max_length = 0;
  int vocabulary = 0;
};

/// Parks whatever rests while another one waits, and takes in fewer sequences than the clients may want at once.
subject make_subject(const options& wanted);

}  // namespace cogen::soak
