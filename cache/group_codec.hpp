#pragma once

#include <cogen/extend/kv_codec.hpp>

namespace cogen::cache {

/// Where the parts of one head's block lie in the built-in form, for a head of some size.
struct group_layout {
  int rows;    // of codes
  int length;  // elements of a row in use
  int padded;  // elements of a row
  int row_bytes;
  bool along_rows;        // groups go along rows, not across them
  int groups;             // in a row, or of rows
  std::int64_t minimums;  // offset in bytes; scales are at 0
  std::int64_t codes;     // offset in bytes
  std::int64_t bytes;

  group_layout(const group_format& format, int head_dim);
};

/// How attention reads blocks of `quantizer`, if it reads by `rows`.
quantized_plane plane_of(const codec& quantizer, int head_dim, row_order rows);

}  // namespace cogen::cache
