#include "snapshot/stored_snapshot.hpp"

#include "load/checksum.hpp"

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

void stored_snapshot::read(const std::function<void(std::span<const std::byte>)>& visit) const {
  if (bytes_) return visit(bytes());
  std::vector<std::byte> held(std::min(part_bytes, size_));
  load::checksum sum;
  for (std::size_t done = 0; done < size_;) {
    const auto part = std::span(held).first(std::min(part_bytes, size_ - done));
    file_->read(begin_ + static_cast<std::int64_t>(done), part);
    sum.add(part);
    visit(part);
    done += part.size();
  }
  if (sum.value() != checksum_) throw std::runtime_error("what was swapped out to a file has changed there");
}

}  // namespace cogen::detail
