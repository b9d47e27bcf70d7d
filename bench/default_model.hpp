#pragma once

#include <string>

namespace bench {

/// The file that scripts/bootstrap fetched: what each --model is unless given.
std::string default_model();

}  // namespace bench
