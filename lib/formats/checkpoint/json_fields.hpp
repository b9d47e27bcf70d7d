#pragma once

#include "formats/checkpoint/field_lookup.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cogen::load {

/// Fields of a JSON text that is one object. Throws load_error.
std::shared_ptr<const config_fields::lookup> json_fields(std::string_view text, std::string name);

}  // namespace cogen::load
