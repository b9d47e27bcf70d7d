#pragma once

#include <cogen/cache/view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cogen::cache {

/// A stretch of the bytes of an exported slot: rows of numbers, or bytes that mean something to their layer alone. A
/// row is one head's value of one token, or one dimension of a head's keys of the 64 tokens in a block.
struct exported_run {
  std::int64_t bytes = 0;           ///< whole rows
  std::optional<scalar> type = {};  ///< none: no numbers
  int dims = 0;                     ///< numbers of a row; 0 where there are none
  int unused = 0;                   ///< at each row's end, so many numbers mean nothing

  friend bool operator==(const exported_run&, const exported_run&) = default;
};

/// Adds a run behind the others, to the last of them where it goes on with the same.
void append(std::vector<exported_run>& runs, const exported_run& next);

// The packed form of an exported slot, which loses: about 0.53 of 16-bit numbers, 0.27 of 32-bit ones.
//
// The numbers of each row are taken in groups of 32, the last one of a row being what is left. A group becomes its
// scale (bfloat16) and a code of 8 bits for each number: number = code * scale, rounded to the run's type, at most its
// largest finite number. Codes from -126 to 126; the scale is the least bfloat16 that reaches the largest finite
// number of the group, so that a finite number is off by half a scale at most, and by its type's own rounding.
// Infinities are the codes 127 and -127, NaN is -128 and comes back as a quiet NaN: where they are, and no other number
// of the group is worse for it. Numbers that mean nothing come back as zeros. Bytes that are no numbers stay as they
// are. The same bytes are always packed the same way. Any thread may call.

/// Bytes of the packed form.
std::int64_t compressed_bytes(std::span<const exported_run> runs);

/// Compresses `snapshot`, which is what the runs say, into compressed_bytes(runs) bytes. Throws std::invalid_argument,
/// naming both numbers, for another number of bytes on either side.
void compress(std::span<const exported_run> runs, std::span<const std::byte> snapshot, std::span<std::byte> compressed);

/// The way back. Throws as compress does.
void decompress(std::span<const exported_run> runs, std::span<const std::byte> compressed,
                std::span<std::byte> snapshot);

}  // namespace cogen::cache
