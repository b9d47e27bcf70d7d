#pragma once

#include <cogen/error.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/scheduler/types.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cogen::detail {

/// The contents of a session file, except the bytes of the snapshot.
///
/// The file has three parts, with all numbers little-endian:
/// - the preamble: eight bytes of magic, version (u32), marks (u32; 1: the sequence is not exact, 2: its snapshot is
///   not), size and checksum of the head, size and checksum of the body, checksum of everything before it (u64 each);
/// - the head: the members below up to `encoder_input`, in their order; then `length`, `cached` and `reach` of the
///   snapshot and the tokens of its encoder input (i32 each; 0 without a snapshot);
/// - the body: the snapshot's bytes.
/// The length of a string or list (u64) precedes its elements. The checksums are XXH64.
struct session {
  std::string model;  ///< engine_parts::fingerprint
  std::string cache;  ///< runner::snapshot_format()
  std::uint64_t seed = 0;
  std::uint64_t branch = 0;
  std::uint32_t forks = 0;
  std::uint32_t truncations = 0;
  std::vector<token> tokens;
  std::vector<std::uint8_t> generated;  ///< [tokens]; 1: sampled
  std::vector<token> encoder_input;
  bool exact = true;                            ///< of the sequence; the snapshot has its own
  std::optional<scheduler::snapshot> snapshot;  ///< none: nothing was cached, or the runner gives out no snapshots
};

struct read_session {
  session saved;
  std::vector<std::byte> bytes;
  int snapshot_source = 0;  ///< tokens of the encoder input in the snapshot
};

/// What a session must match to be opened.
struct session_limits {
  std::string model;
  std::string cache;
  int vocabulary = 0;
  int max_sequence_length = 0;
  int longest_encoder_input = 0;  ///< tokens; 0: there is no encoder
};

/// Writes the file atomically: writes another file beside it, which then replaces it. `snapshot` is that of
/// `what.snapshot`, or null. Once `unwanted` returns true, gives up without an error. Returns the error, if there was
/// one; then the old file is unchanged.
diagnostics write_session(const std::filesystem::path& path, const session& what, const kv_snapshot* snapshot,
                          const std::function<bool()>& unwanted) noexcept;

/// Throws generation_error, naming the file, and std::bad_alloc.
read_session read_session_file(const std::filesystem::path& path, const session_limits& within);

/// Reads a session without the bytes of its snapshot, and without checking what it is of. Throws as above.
session read_session_head(const std::filesystem::path& path);

}  // namespace cogen::detail
