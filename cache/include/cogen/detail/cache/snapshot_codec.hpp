#pragma once

#include <cogen/detail/cache/view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// A run of bytes in an exported slot: rows of numbers, or opaque bytes of the layer. A row is one head's value of one
/// token, or one dimension of a head's keys of the 64 tokens in a block.
struct exported_run {
  std::int64_t bytes = 0;           ///< a whole number of rows
  std::optional<scalar> type = {};  ///< none: opaque bytes
  int dims = 0;                     ///< numbers in a row; 0 for opaque bytes
  int unused = 0;                   ///< padding numbers at the end of each row

  friend bool operator==(const exported_run&, const exported_run&) = default;
};

/// Appends a run, or extends the last one if it has the same form.
void append(std::vector<exported_run>& runs, const exported_run& next);

/// Whether all numbers of the runs are finite. Opaque bytes, and those that end too soon, are not looked at.
bool are_finite(std::span<const exported_run> runs, std::span<const std::byte> exported);

// The compressed form of an exported slot. It is lossy: about 0.53 of 16-bit numbers, 0.27 of 32-bit ones.
//
// The numbers of each row are divided into groups of 32; the last group has the rest. A group is stored as its scale
// (bfloat16) and an 8-bit code for each number: number = code * scale, rounded to the run's type and limited to its
// largest finite number. Codes go from -126 to 126. The scale is the smallest bfloat16 that reaches the largest finite
// number of the group, so a finite number is off by at most half a scale plus its type's own rounding. Infinities are
// the codes 127 and -127; NaN is -128 and is restored as a quiet NaN. They cost other numbers of the group no accuracy.
// Padding is restored as zeros. Opaque bytes are stored unchanged. Deterministic. Thread-safe.

/// Bytes of the compressed form.
std::int64_t compressed_bytes(std::span<const exported_run> runs);

/// Compresses `snapshot`, described by `runs`, into compressed_bytes(runs) bytes. Throws std::invalid_argument, naming
/// both numbers, for a wrong number of bytes on either side.
void compress(std::span<const exported_run> runs, std::span<const std::byte> snapshot, std::span<std::byte> compressed);

/// The reverse of compress(). Throws as it does.
void decompress(std::span<const exported_run> runs, std::span<const std::byte> compressed,
                std::span<std::byte> snapshot);

}  // namespace cogen::cache
