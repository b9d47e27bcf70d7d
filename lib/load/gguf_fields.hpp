#pragma once

#include "load/field_lookup.hpp"
#include "load/gguf.hpp"

#include <memory>

namespace cogen::load {

/// Fields of a GGUF file's metadata. `file` must outlive them.
std::shared_ptr<const config_fields::lookup> gguf_fields(const gguf_file& file);

}  // namespace cogen::load
