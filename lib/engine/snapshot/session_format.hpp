#pragma once

#include "formats/checkpoint/checksum.hpp"

#include <cogen/detail/scheduler/types.hpp>
#include <cogen/error.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/token.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen::detail {

/// The contents of a session, except the bytes of the snapshot.
///
/// A session has four parts, with all numbers little-endian, and is written and read in one pass:
/// - the preamble: eight bytes of magic, version (u32), marks (u32; 1: the sequence is not exact, 2: its snapshot is
///   not), size and checksum of the head, size of the body, checksum of everything before it (u64 each);
/// - the head: the members below up to `encoder_input`, in their order; then `length`, `cached` and `reach` of the
///   snapshot and the tokens of its encoder input (i32 each; 0 without a snapshot);
/// - the body: the snapshot's bytes;
/// - the checksum of the body (u64).
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
  int max_encoder_input = 0;  ///< tokens; 0: there is no encoder
};

struct session_preamble {
  std::array<char, 8> magic{'\x89', 'c', 'o', 'g', 'e', 'n', '\r', '\n'};
  std::uint32_t version = 4;
  std::uint32_t marks = 0;
  std::uint64_t head_bytes = 0;
  std::uint64_t head_sum = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t sum = 0;  ///< of everything above
};
static_assert(sizeof(session_preamble) == 48 && std::endian::native == std::endian::little);

/// Gives out the bytes of a session, piece by piece.
class session_writer {
 public:
  /// `name` begins the messages of errors; `snapshot` is that of `state.snapshot`, or null.
  session_writer(std::string name, const session& state, std::shared_ptr<const kv_snapshot> snapshot);

  /// The next piece, of 1 MiB at most, which is valid until the next call; empty at the end. Throws generation_error if
  /// the snapshot cannot be read, and std::bad_alloc.
  std::span<const std::byte> next();

 private:
  enum class part : std::uint8_t { head, body, checksum, end };

  void begin_next_part();
  std::span<const std::byte> next_of_body() const;

  std::string name_;
  std::shared_ptr<const kv_snapshot> snapshot_;
  snapshot_reader body_;  // empty: there is no snapshot
  std::vector<std::byte> held_;
  std::span<const std::byte> rest_;  // of the part, or of the snapshot's last piece
  part part_ = part::head;
  load::checksum sum_;
};

/// Takes the bytes of a session in order, however they are cut, and checks them as early as it can. Memory grows as
/// bytes come, whatever sizes they claim. After an exception it may only be destroyed.
class session_reader {
 public:
  /// `name` begins the messages of errors. A session that does not match `within` is refused; without it, none is. The
  /// session has `size` bytes, if that is known.
  explicit session_reader(std::string name, std::optional<session_limits> within = {},
                          std::optional<std::uint64_t> size = {});

  /// Where the next bytes go, 1 MiB at most; empty once the session is complete. Throws std::bad_alloc.
  std::span<std::byte> prepare();

  /// So many bytes are there. Throws generation_error with error::bad_session or does_not_fit, and std::bad_alloc.
  void commit(std::size_t bytes);

  /// Throws generation_error: the bytes have ended, and the session is not complete.
  [[noreturn]] void refuse_end() const;

  bool has_head() const noexcept { return part_ > part::head; }
  const session& head() const noexcept { return found_.saved; }
  read_session release();  ///< the complete session

 private:
  enum class part : std::uint8_t { magic, preamble, head, body, checksum, end };

  void begin(part next, std::uint64_t bytes);
  void end_part();
  void check_preamble() const;
  void read_head();
  void check_body() const;

  const std::string name_;
  const std::optional<session_limits> within_;
  const std::optional<std::uint64_t> size_;
  part part_ = part::magic;
  std::uint64_t expected_ = 0;   // bytes of the part
  std::uint64_t taken_ = 0;      // bytes of all parts
  std::size_t filled_ = 0;       // of held_
  std::vector<std::byte> held_;  // the part, as far as it is there or prepared
  load::checksum sum_;           // of the part
  std::uint64_t body_sum_ = 0;
  session_preamble preamble_;
  read_session found_;
};

/// An error of the session that `name` describes.
generation_error session_error(const std::string& name, error_code code, const std::string& message);

}  // namespace cogen::detail
