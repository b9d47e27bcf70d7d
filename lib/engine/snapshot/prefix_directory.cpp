#include "engine/snapshot/prefix_directory.hpp"

#include "formats/checkpoint/folder.hpp"

#include <cogen/load/sha256.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cogen::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".prefix";
constexpr std::string_view unfinished = ".part";  // by write_session()
constexpr std::chrono::hours abandoned_after(1);

constexpr std::size_t salt_digits = 16;  // of a number in a name

std::string salt_in_names(const scheduler::cache_salt& salt) {
  return fmt::format("{:016x}-{}", salt.tenant, load::hexadecimal(salt.digest));
}

/// Differs with the model, the kind of cache, the cache salt and the tokens.
std::string name_of(const scheduler::cached_prefix& prefix, const session_limits& limits) {
  auto source = fmt::format("{} {} {} {} ", limits.model.size(), limits.model, limits.cache.size(), limits.cache);
  const auto tokens = std::as_bytes(std::span(prefix.tokens.data(), prefix.tokens.size()));
  source.append(reinterpret_cast<const char*>(tokens.data()), tokens.size());
  return fmt::format("{}-{}{}", salt_in_names(prefix.cache_salt), load::hexadecimal(load::sha256(source)), extension);
}

/// The salt that a name of name_of() begins with; that of another text if it is none.
scheduler::cache_salt salt_of_name(std::string_view name) {
  scheduler::cache_salt salt;
  const auto read = [&](std::size_t begin, std::uint64_t& value) {
    const auto part = begin < name.size() ? name.substr(begin, salt_digits) : std::string_view();
    std::from_chars(part.data(), part.data() + part.size(), value, 16);
  };
  read(0, salt.tenant);
  for (std::size_t i = 0; i < salt.digest.size(); ++i) read((i + 1) * salt_digits + 1, salt.digest[i]);
  return salt;
}

void mark_as_used(const fs::path& path) {
  std::error_code ignored;  // it may have gone
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

/// What a process that has ended has not finished.
void remove_if_abandoned(const fs::path& path) {
  std::error_code ignored;
  const auto written = fs::last_write_time(path, ignored);
  if (!ignored && fs::file_time_type::clock::now() - written > abandoned_after) fs::remove(path, ignored);
}

/// How many of the tokens a slot that the prefix fills can share.
int usable(const scheduler::cached_prefix& prefix, std::span<const token> tokens, int rollback) {
  const auto both = std::ranges::mismatch(prefix.tokens, tokens).in2 - tokens.begin();
  return both >= std::int64_t{prefix.snapshot.high_water_mark} - rollback ? static_cast<int>(both) : 0;
}

std::invalid_argument unusable(const fs::path& folder, const std::error_code& reason) {
  return std::invalid_argument(fmt::format("engine_options.kv.prefix_cache_directory is {}: it cannot be used: {}",
                                           folder.string(), reason.message()));
}

/// Throws std::invalid_argument if the folder cannot be made, listed or written.
std::vector<fs::path> list(const fs::path& folder) try {
  fs::create_directories(folder);
  if (::access(folder.c_str(), W_OK | X_OK) < 0) throw unusable(folder, {errno, std::generic_category()});
  return load::list_folder(folder);
} catch (const std::system_error& error) {
  throw unusable(folder, error.code());
}

}  // namespace

prefix_directory::prefix_directory(fs::path where, session_limits limits, std::int64_t max_bytes, const log& report)
    : where_(std::move(where)), limits_(std::move(limits)), max_bytes_(max_bytes) {
  for (const auto& path : list(where_)) {
    if (path.extension() == extension) add(path, report);
    if (path.extension() == unfinished) remove_if_abandoned(path);
  }
}

void prefix_directory::add(const fs::path& path, const log& report) try {
  auto saved = read_session_head(path);
  if (saved.model != limits_.model || saved.cache != limits_.cache || !saved.snapshot) return;
  if (std::cmp_greater(saved.tokens.size(), limits_.max_sequence_length)) return;
  const auto name = path.filename().string();
  const scheduler::cached_prefix prefix{salt_of_name(name), scheduler::token_list(saved.tokens), *saved.snapshot};
  if (name == name_of(prefix, limits_))
    found_.push_back(std::make_shared<const stored_prefix>(stored_prefix{path, prefix}));
} catch (const generation_error& e) {
  if (report) report(e.why().message());
}

std::shared_ptr<const stored_prefix> prefix_directory::find(const scheduler::cache_salt& salt,
                                                            std::span<const token> tokens, int least,
                                                            int rollback) const {
  std::shared_ptr<const stored_prefix> best;
  for (const auto& each : found_) {
    const int tokens_of_it = each->prefix.cache_salt == salt ? usable(each->prefix, tokens, rollback) : 0;
    if (tokens_of_it < least) continue;
    best = each;
    least = tokens_of_it + 1;
  }
  return best;
}

read_session prefix_directory::read(const stored_prefix& stored) const {
  auto found = read_session_file(stored.path, limits_);
  if (!std::ranges::equal(found.saved.tokens, stored.prefix.tokens))
    throw session_error(stored.path.string(), make_error_code(error::bad_session), "it is of other tokens than before");
  mark_as_used(stored.path);
  return found;
}

void prefix_directory::forget(const stored_prefix& stored) {
  std::erase_if(found_, [&](const auto& entry) { return entry.get() == &stored; });
}

diagnostics prefix_directory::write(const scheduler::cached_prefix& prefix, const kv_snapshot& snapshot) const noexcept
    try {
  const auto path = where_ / name_of(prefix, limits_);
  if (std::ranges::find(found_, path, [](const auto& entry) { return entry->path; }) != found_.end()) {
    mark_as_used(path);
    return {};
  }
  session saved;
  saved.model = limits_.model;
  saved.cache = limits_.cache;
  saved.tokens.assign(prefix.tokens.begin(), prefix.tokens.end());
  saved.generated.resize(saved.tokens.size());
  saved.snapshot = prefix.snapshot;
  auto why = write_session(path, saved, {std::shared_ptr<void>(), &snapshot}, [] { return false; });
  remove_oldest();
  return why;
} catch (const std::exception& e) {
  return {make_error_code(boost::system::errc::io_error), e.what()};
}

void prefix_directory::remove_oldest() const {
  struct file {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<file> files;
  std::int64_t sum = 0;
  for (const auto& path : load::list_folder(where_)) {
    std::error_code gone;
    const auto used = fs::last_write_time(path, gone);
    const auto bytes = static_cast<std::int64_t>(gone ? 0 : fs::file_size(path, gone));
    if (gone || path.extension() != extension) continue;
    files.push_back({used, bytes, path});
    sum += bytes;
  }
  std::ranges::sort(files, {}, &file::used);
  for (const auto& each : files) {
    if (sum <= max_bytes_) return;
    std::error_code gone;
    fs::remove(each.path, gone);
    sum -= each.bytes;
  }
}

}  // namespace cogen::detail
