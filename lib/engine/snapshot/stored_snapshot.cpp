#include "engine/snapshot/stored_snapshot.hpp"

#include "formats/checkpoint/checksum.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cogen::detail {
namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 20;

}  // namespace

stored_snapshot::stored_snapshot(host_bytes bytes, std::size_t size, int encoder_input)
    : size_(size), encoder_input_(encoder_input), bytes_(std::move(bytes)) {}

stored_snapshot::~stored_snapshot() {
  if (counted_in_) *counted_in_ -= static_cast<std::int64_t>(size_);
  if (file_) file_->give_back(begin_);
}

void stored_snapshot::count_in(std::shared_ptr<std::atomic<std::int64_t>> sum) {
  counted_in_ = std::move(sum);
  *counted_in_ += static_cast<std::int64_t>(size_);
}

void stored_snapshot::reserve(std::shared_ptr<swap_file> file, std::int64_t begin) noexcept {
  file_ = std::move(file);
  begin_ = begin;
}

void stored_snapshot::move() {
  if (!file_ || !bytes_) return;
  checksum_ = load::checksum_of(bytes());
  file_->write(begin_, bytes());
  bytes_.reset();
}

/// Reads the bytes from the file, and compares their checksum at the end.
class stored_snapshot::file_reader {
 public:
  explicit file_reader(const stored_snapshot& snapshot)
      : snapshot_(snapshot), held_(std::min(part_bytes, snapshot.size_)) {}

  std::span<const std::byte> next() {
    const auto part = std::span(held_).first(std::min(part_bytes, snapshot_.size_ - done_));
    if (part.empty() && sum_.value() != snapshot_.checksum_)
      throw std::runtime_error("what was swapped out to a file has changed there");
    snapshot_.file_->read(snapshot_.begin_ + static_cast<std::int64_t>(done_), part);
    sum_.add(part);
    done_ += part.size();
    return part;
  }

 private:
  const stored_snapshot& snapshot_;
  std::vector<std::byte> held_;
  load::checksum sum_;
  std::size_t done_ = 0;
};

snapshot_reader stored_snapshot::read() const {
  if (bytes_) return [rest = bytes()]() mutable { return std::exchange(rest, {}); };
  return [reader = std::make_shared<file_reader>(*this)] { return reader->next(); };
}

}  // namespace cogen::detail
