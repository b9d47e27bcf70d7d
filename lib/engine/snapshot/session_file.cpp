#include "engine/snapshot/session_file.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace cogen::detail {
namespace {

std::string name_of(const std::filesystem::path& path) { return "session " + path.string(); }

[[noreturn]] void refuse_system(const std::filesystem::path& path, std::string_view problem) {
  const error_code code(errno, boost::system::generic_category());
  throw session_error(name_of(path), code, fmt::format("{}: {}", problem, code.message()));
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

// Writing

void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse_system(path, "it cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
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

// Reading

std::uint64_t size_of(int file, const std::filesystem::path& path) {
  struct stat status {};
  if (file < 0) refuse_system(path, "it cannot be opened");
  if (::fstat(file, &status) < 0) refuse_system(path, "it cannot be read");
  if (!S_ISREG(status.st_mode))
    throw session_error(name_of(path), make_error_code(error::bad_session), "it is not a regular file");
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t read_some(int file, std::span<std::byte> buffer, const std::filesystem::path& path) {
  for (;;) {
    const auto got = ::read(file, buffer.data(), buffer.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) refuse_system(path, "it cannot be read");
  }
}

/// A file of which the session is read.
class session_file {
 public:
  session_file(const std::filesystem::path& path, std::optional<session_limits> within)
      : path_(path),
        file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        reader_(name_of(path), std::move(within), size_of(file_, path)) {}

  session head() && {
    while (!reader_.has_head()) read(reader_.prepare());
    return reader_.head();
  }

  read_session whole() && {
    for (auto buffer = reader_.prepare(); !buffer.empty(); buffer = reader_.prepare()) read(buffer);
    return reader_.release();
  }

 private:
  void read(std::span<std::byte> buffer) {
    const auto got = read_some(file_, buffer, path_);
    if (got == 0) reader_.refuse_end();
    reader_.commit(got);
  }

  const std::filesystem::path& path_;
  const descriptor file_;
  session_reader reader_;
};

}  // namespace

diagnostics write_session(const std::filesystem::path& path, const session& state,
                          const std::shared_ptr<const kv_snapshot>& snapshot,
                          const std::function<bool()>& unwanted) noexcept try {
  session_writer writer(name_of(path), state, snapshot);
  file_beside output(path);
  for (auto piece = writer.next(); !piece.empty(); piece = writer.next()) {
    if (unwanted()) return {};
    write_all(output.file(), piece, path);
  }
  if (::fsync(output.file()) < 0) refuse_system(path, "it cannot be written");
  if (!unwanted()) output.take_place();
  return {};
} catch (const generation_error& e) {
  return e.why();
} catch (const std::exception& e) {
  return {error::out_of_memory, e.what()};
}

read_session read_session_file(const std::filesystem::path& path, const session_limits& within) {
  return session_file(path, within).whole();
}

session read_session_head(const std::filesystem::path& path) { return session_file(path, {}).head(); }

}  // namespace cogen::detail
