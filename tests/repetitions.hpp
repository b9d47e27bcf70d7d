// How often tests of random histories repeat.
#pragma once

#include "sanitizers.hpp"

namespace cogen::test {

/// Under a sanitizer, where a history takes ten times as long, one is enough for what only a sanitizer sees.
constexpr unsigned repetitions(unsigned usual) { return sanitized ? 1 : usual; }

}  // namespace cogen::test
