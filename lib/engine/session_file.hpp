#pragma once

#include <cogen/error.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/scheduler/types.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cogen::detail {

/// What a session file says of a sequence, beside the bytes of its snapshot.
///
/// The file, all numbers little-endian: the eight bytes of the magic, version (u32), marks (u32; 1: the sequence is
/// exact no more, 2: its snapshot is not), size and checksum of the
/// head, size and checksum of the body, checksum of all before it (u64 each); then the head, the members below in their
/// order; then the body, the snapshot's bytes. Texts and lists follow their length (u64). The checksums are XXH64.
struct session {
  std::string model;  ///< engine_parts::identity
  std::string cache;  ///< runner::snapshot_format()
  std::uint64_t seed = 0;
  std::uint64_t branch = 0;
  std::uint32_t forks = 0;
  std::uint32_t truncations = 0;
  std::vector<token> tokens;
  std::vector<std::uint8_t> generated;  ///< [tokens]: 1 where it was sampled
  std::vector<token> encoder_input;
  bool exact = true;                            ///< the sequence is, whatever its snapshot is
  std::optional<scheduler::snapshot> snapshot;  ///< none: nothing was cached, or it cannot be had
};

struct read_session {
  session saved;
  std::vector<std::byte> bytes;
  int snapshot_source = 0;  ///< tokens of the encoder input in the snapshot
};

/// What a session must be of, to be opened.
struct session_limits {
  std::string model;
  std::string cache;
  int vocabulary = 0;
  int max_sequence_length = 0;
  int longest_encoder_input = 0;  ///< 0: there is no encoder
};

class session_error final : public std::exception {
 public:
  explicit session_error(diagnostics why) noexcept : why_(std::move(why)) {}
  const diagnostics& why() const noexcept { return why_; }
  const char* what() const noexcept override { return "a session file cannot be read"; }

 private:
  diagnostics why_;
};

/// Writes the file whole, or leaves what was there: another file beside it takes its place. The snapshot is that of
/// `what.snapshot`, or null. Gives up without a word once `unwanted` says so. Returns what went wrong.
diagnostics write_session(const std::filesystem::path& path, const session& what, const kv_snapshot* snapshot,
                          const std::function<bool()>& unwanted) noexcept;

/// Throws session_error, naming the file, and std::bad_alloc.
read_session read_session_file(const std::filesystem::path& path, const session_limits& within);

}  // namespace cogen::detail
