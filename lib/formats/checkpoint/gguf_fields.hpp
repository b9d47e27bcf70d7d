#pragma once

#include "formats/checkpoint/field_lookup.hpp"
#include "formats/checkpoint/gguf.hpp"

#include <memory>

namespace cogen::load {

/// Fields of a GGUF file's metadata. `file` must outlive them.
std::shared_ptr<const config_fields::lookup> gguf_fields(const gguf_file& file);

}  // namespace cogen::load
