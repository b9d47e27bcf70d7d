#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <cstddef>
#include <optional>

namespace cogen::text {

/// The most bytes of a normalized text that one token can stand for; nothing where that is not limited, as when white
/// space is dropped or unknown characters are joined.
std::optional<std::size_t> covered_bytes(const tokenizer_spec& spec);

}  // namespace cogen::text
