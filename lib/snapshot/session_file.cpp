#include "snapshot/session_file.hpp"

#include "load/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cogen::detail {
namespace {

constexpr std::array<char, 8> magic{'\x89', 'c', 'o', 'g', 'e', 'n', '\r', '\n'};
constexpr std::uint32_t version = 2;

constexpr std::uint32_t inexact_sequence = 1;
constexpr std::uint32_t inexact_snapshot = 2;

struct preamble {
  std::array<char, 8> magic = detail::magic;
  std::uint32_t version = detail::version;
  std::uint32_t marks = 0;
  std::uint64_t head_bytes = 0;
  std::uint64_t head_sum = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t body_sum = 0;
  std::uint64_t sum = 0;  // of everything above
};
static_assert(sizeof(preamble) == 56 && std::endian::native == std::endian::little);

std::uint64_t sum_of(const preamble& what) {
  return load::checksum_of(std::as_bytes(std::span(&what, 1)).first(offsetof(preamble, sum)));
}

template <class... Args>
[[noreturn]] void refuse(const std::filesystem::path& path, error code, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw generation_error(
      {code, fmt::format("session {}: {}", path.string(), fmt::format(format, std::forward<Args>(args)...))});
}

[[noreturn]] void refuse_system(const std::filesystem::path& path, std::string_view what) {
  const error_code code(errno, boost::system::generic_category());
  throw generation_error({code, fmt::format("session {}: {}: {}", path.string(), what, code.message())});
}

/// Owns the descriptor of an open file.
class descriptor {
 public:
  explicit descriptor(int opened) noexcept : opened_(opened) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (opened_ >= 0) ::close(opened_);
  }
  operator int() const noexcept { return opened_; }

 private:
  int opened_;
};

// The head

class head_writer {
 public:
  template <class Number>
  void number(Number value) {
    list(std::span(&value, 1));
  }
  template <class Element>
  void counted(const Element& list_of) {
    number(static_cast<std::uint64_t>(list_of.size()));
    list(std::span(list_of));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <class Span>
  void list(Span values) {
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> bytes_;
};

class head_reader {
 public:
  head_reader(const std::filesystem::path& path, std::span<const std::byte> bytes) : path_(path), rest_(bytes) {}

  template <class Number>
  void number(Number& into) {
    take(&into, sizeof(into));
  }
  template <class List>
  void counted(List& into) {
    std::uint64_t size = 0;
    number(size);
    if (size > rest_.size() / sizeof(into[0])) refuse(path_, error::bad_session, "its head makes no sense");
    into.resize(static_cast<std::size_t>(size));
    take(into.data(), into.size() * sizeof(into[0]));
  }
  bool at_end() const { return rest_.empty(); }

 private:
  void take(void* into, std::size_t bytes) {
    if (bytes > rest_.size()) refuse(path_, error::bad_session, "its head makes no sense");
    if (bytes > 0) std::memcpy(into, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }

  const std::filesystem::path& path_;
  std::span<const std::byte> rest_;
};

/// Visits the members in the order of the file, to write or to read them.
template <class Head, class Session>
void each_member(Head& head, Session& what) {
  head.counted(what.model);
  head.counted(what.cache);
  head.number(what.seed);
  head.number(what.branch);
  head.number(what.forks);
  head.number(what.truncations);
  head.counted(what.tokens);
  head.counted(what.generated);
  head.counted(what.encoder_input);
}

std::uint32_t marks_of(const session& what, const kv_snapshot* snapshot) {
  return (what.exact ? 0 : inexact_sequence) | (!snapshot || what.snapshot.value().exact ? 0 : inexact_snapshot);
}

std::vector<std::byte> head_of(const session& what, const kv_snapshot* snapshot) {
  head_writer head;
  each_member(head, what);
  const auto of = snapshot ? what.snapshot.value() : scheduler::snapshot();
  for (const int number : {of.length, of.cached, of.reach, snapshot ? snapshot->encoder_input() : 0})
    head.number(number);
  return head.bytes();
}

// Writing

void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse_system(path, "it cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

struct no_longer_wanted {};

/// Writes the snapshot's bytes and returns their checksum. Throws no_longer_wanted once `unwanted` returns true.
std::uint64_t write_body(int file, const kv_snapshot& snapshot, const std::filesystem::path& path,
                         const std::function<bool()>& unwanted) {
  constexpr std::size_t most = std::size_t{4} << 20;
  load::checksum sum;
  snapshot.read([&](std::span<const std::byte> piece) {
    for (; !piece.empty(); piece = piece.subspan(std::min(most, piece.size()))) {
      if (unwanted()) throw no_longer_wanted();
      const auto part = piece.first(std::min(most, piece.size()));
      sum.add(part);
      write_all(file, part, path);
    }
  });
  return sum.value();
}

/// Writes the preamble twice: first as a placeholder, and at the end with the checksums.
void write_file(int file, const session& what, const kv_snapshot* snapshot, const std::filesystem::path& path,
                const std::function<bool()>& unwanted) {
  const auto head = head_of(what, snapshot);
  preamble first;
  first.marks = marks_of(what, snapshot);
  first.head_bytes = head.size();
  first.head_sum = load::checksum_of(head);
  first.body_bytes = snapshot ? snapshot->size() : 0;
  write_all(file, std::as_bytes(std::span(&first, 1)), path);
  write_all(file, head, path);
  first.body_sum = snapshot ? write_body(file, *snapshot, path, unwanted) : load::checksum_of({});
  first.sum = sum_of(first);
  if (::lseek(file, 0, SEEK_SET) < 0) refuse_system(path, "it cannot be written");
  write_all(file, std::as_bytes(std::span(&first, 1)), path);
  if (::fsync(file) < 0) refuse_system(path, "it cannot be written");
}

/// A file beside `path` that can replace it. The destructor removes it unless it has.
class file_beside {
 public:
  explicit file_beside(const std::filesystem::path& path)
      : path_(path),
        beside_(name_beside(path)),
        file_(::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (file_ < 0) refuse_system(path, "no file can be made beside it");
  }
  ~file_beside() {
    if (!beside_.empty()) ::unlink(beside_.c_str());
  }
  int file() const { return file_; }

  /// Replaces the file at `path`. If it throws, that file is unchanged.
  void take_place() {
    const auto folder = path_.parent_path();
    if (::rename(beside_.c_str(), path_.c_str()) < 0) refuse_system(path_, "it cannot be replaced");
    beside_.clear();
    const descriptor held(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (held >= 0) ::fsync(held);  // not every file system supports it; the file is complete either way
  }

 private:
  static std::string name_beside(const std::filesystem::path& path) {
    static std::atomic<unsigned> count = 0;
    return fmt::format("{}.{}-{}.part", path.string(), ::getpid(), ++count);
  }

  const std::filesystem::path& path_;
  std::string beside_;
  descriptor file_;
};

diagnostics snapshot_lost(const std::filesystem::path& path, const std::exception& why) noexcept {
  const auto code = make_error_code(boost::system::errc::io_error);
  try {
    return {code,
            fmt::format("session {}: what the sequence has cached cannot be read: {}", path.string(), why.what())};
  } catch (...) {
    return {code, why.what()};
  }
}

// Reading

void read_all(int file, std::span<std::byte> into, const std::filesystem::path& path) {
  while (!into.empty()) {
    const auto got = ::read(file, into.data(), into.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_system(path, "it cannot be read");
    if (got == 0) refuse(path, error::bad_session, "it was cut short while it was read");
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t size_of(int file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file, &status) < 0) refuse_system(path, "it cannot be read");
  if (!S_ISREG(status.st_mode)) refuse(path, error::bad_session, "it is no regular file");
  return static_cast<std::uint64_t>(status.st_size);
}

preamble read_preamble(int file, std::uint64_t size, const std::filesystem::path& path) {
  preamble first;
  const auto bytes = std::as_writable_bytes(std::span(&first, 1));
  read_all(file, bytes.first(std::min<std::size_t>(sizeof(first), size)), path);
  if (size < magic.size() || first.magic != magic) refuse(path, error::bad_session, "it is no session file of cogen");
  if (size < sizeof(first))
    refuse(path, error::bad_session, "it is cut short: it has {} bytes, fewer than every session", size);
  if (first.version != version)
    refuse(path, error::bad_session, "it is of version {}; this program reads version {}", first.version, version);
  if (first.sum != sum_of(first))
    refuse(path, error::bad_session, "its beginning is damaged: its checksum is {:016x}, that of what is there {:016x}",
           first.sum, sum_of(first));
  if (first.marks > (inexact_sequence | inexact_snapshot))
    refuse(path, error::bad_session, "its marks are {}; this program knows those up to {}", first.marks,
           inexact_sequence | inexact_snapshot);
  const auto room = size - sizeof(first);
  const bool holds = first.head_bytes <= room && first.body_bytes <= room - first.head_bytes;
  if (!holds || first.head_bytes + first.body_bytes != room)
    refuse(path, error::bad_session, "{}: it has {} bytes; its head says {} and {} after the first {}",
           holds ? "it is too long" : "it is cut short", size, first.head_bytes, first.body_bytes, sizeof(first));
  return first;
}

std::vector<std::byte> read_part(int file, std::uint64_t bytes, std::uint64_t sum, std::string_view name,
                                 const std::filesystem::path& path) {
  std::vector<std::byte> part(static_cast<std::size_t>(bytes));
  read_all(file, part, path);
  if (const auto found = load::checksum_of(part); found != sum)
    refuse(path, error::bad_session, "its {} is damaged: its checksum is {:016x}, that of what is there {:016x}", name,
           sum, found);
  return part;
}

void check_tokens(const std::filesystem::path& path, const std::vector<token>& tokens, int vocabulary) {
  for (const token id : tokens)
    if (id < 0 || id >= vocabulary)
      refuse(path, error::bad_session, "it holds token {}; the vocabulary ends at {}", id, vocabulary - 1);
}

void check(const std::filesystem::path& path, const session& what, const session_limits& within) {
  if (what.model != within.model)
    refuse(path, error::bad_session, "it is of another model: of \"{}\", and this engine's is \"{}\"", what.model,
           within.model);
  if (what.cache != within.cache)
    refuse(path, error::bad_session, "it is of another kind of cache: of \"{}\", and this engine's is \"{}\"",
           what.cache, within.cache);
  check_tokens(path, what.tokens, within.vocabulary);
  check_tokens(path, what.encoder_input, within.vocabulary);
  if (what.tokens.size() > static_cast<std::size_t>(within.max_sequence_length))
    refuse(path, error::does_not_fit, "it holds {} tokens; the sequence may hold {}", what.tokens.size(),
           within.max_sequence_length);
  if (what.encoder_input.size() > static_cast<std::size_t>(within.longest_encoder_input))
    refuse(path, error::does_not_fit, "its encoder input has {} tokens; this engine's encoder reads {}",
           what.encoder_input.size(), within.longest_encoder_input);
  if (what.encoder_input.empty() != (within.longest_encoder_input == 0))
    refuse(path, error::bad_session, "it has no encoder input, and the model reads one");
}

void check_snapshot(const std::filesystem::path& path, const read_session& found) {
  const auto& of = *found.saved.snapshot;
  const auto tokens = static_cast<int>(found.saved.tokens.size());
  const bool sound = of.cached >= 1 && of.cached <= std::min(tokens, of.length) && of.length <= of.reach;
  if (!sound || found.snapshot_source < 0) refuse(path, error::bad_session, "its head makes no sense");
}

read_session read_head(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  read_session found;
  head_reader head(path, bytes);
  each_member(head, found.saved);
  scheduler::snapshot of;
  for (int* const number : {&of.length, &of.cached, &of.reach, &found.snapshot_source}) head.number(*number);
  if (of.length != 0) found.saved.snapshot = of;
  if (!head.at_end() || found.saved.generated.size() != found.saved.tokens.size())
    refuse(path, error::bad_session, "its head makes no sense");
  if (found.saved.snapshot) check_snapshot(path, found);
  return found;
}

/// An open session file, of which the head has been read.
struct begun_session {
  explicit begun_session(const std::filesystem::path& path)
      : file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file < 0) refuse_system(path, "it cannot be opened");
    first = read_preamble(file, size_of(file, path), path);
    found = read_head(path, read_part(file, first.head_bytes, first.head_sum, "head", path));
    found.saved.exact = (first.marks & inexact_sequence) == 0;
    if (found.saved.snapshot) found.saved.snapshot->exact = (first.marks & inexact_snapshot) == 0;
  }

  const descriptor file;
  preamble first;
  read_session found;
};

}  // namespace

diagnostics write_session(const std::filesystem::path& path, const session& what, const kv_snapshot* snapshot,
                          const std::function<bool()>& unwanted) noexcept try {
  file_beside made(path);
  write_file(made.file(), what, snapshot, path, unwanted);
  if (!unwanted()) made.take_place();
  return {};
} catch (const no_longer_wanted&) {
  return {};
} catch (const generation_error& e) {
  return e.why();
} catch (const std::bad_alloc& e) {
  return {error::out_of_memory, e.what()};
} catch (const std::exception& e) {
  return snapshot_lost(path, e);
}

read_session read_session_file(const std::filesystem::path& path, const session_limits& within) {
  begun_session from(path);
  auto& found = from.found;
  check(path, found.saved, within);
  found.bytes = read_part(from.file, from.first.body_bytes, from.first.body_sum, "body", path);
  if (found.bytes.empty()) found.saved.snapshot.reset();
  return std::move(found);
}

session read_session_head(const std::filesystem::path& path) { return begun_session(path).found.saved; }

}  // namespace cogen::detail
