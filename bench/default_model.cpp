#include "default_model.hpp"

std::string bench::default_model() { return COGEN_DEFAULT_MODEL; }
