#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace example {

/// Whether standard output is a terminal that understands cursor movements.
bool is_terminal();

struct terminal_size {
  int columns = 80;
  int rows = 24;
};

/// The terminal's size now; 80 x 24 where it is not known.
terminal_size size_of_terminal();

/// Columns that a UTF-8 text takes: wide characters count two, combining ones none.
int columns_of(std::string_view text);

/// The longest beginning of `text`, whole characters only, that fits in `columns`.
std::string_view fitting(std::string_view text, int columns);

/// The most memory that this process has had at any time, in MiB.
double peak_memory_mib();

}  // namespace example
