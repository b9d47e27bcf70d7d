#pragma once

#include "text/jinja/renderer.hpp"
#include "text/jinja/traced_text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::text::jinja {

/// Which ends of a text an operation is about.
struct sides {
  bool left = true;
  bool right = true;
};

/// Without the white space (or the given characters) at its ends.
traced_text stripped(const traced_text& text, std::optional<std::string_view> characters, sides where = {});

/// Python's str.split and str.rsplit; negative `limit` means no limit. Fails for an empty separator.
std::vector<value> split(renderer& run, const traced_text& text, std::optional<std::string_view> separator,
                         std::int64_t limit, bool from_right);

/// Python's str.replace; negative `limit` means no limit.
value replaced(renderer& run, const traced_text& text, const traced_text& old, const traced_text& by,
               std::int64_t limit);

/// Python's str.splitlines.
std::vector<value> lines_of(renderer& run, const traced_text& text, bool keep_ends);

}  // namespace cogen::text::jinja
