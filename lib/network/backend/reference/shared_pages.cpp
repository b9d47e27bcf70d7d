#include "network/backend/reference/shared_pages.hpp"

#include <ATen/ops/from_blob.h>

#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cogen::device {

namespace {

[[noreturn]] void refuse(int error, const std::string& request) {
  throw std::system_error(error, std::generic_category(), "virtual memory: the system refuses " + request);
}

/// A file in memory, of which parts are in use. Thread-safe.
class page_file {
 public:
  explicit page_file(std::int64_t page_bytes) : page_bytes_(page_bytes), file_(::memfd_create("cogen", MFD_CLOEXEC)) {
    if (file_ < 0) refuse(errno, "a file in memory");
  }
  ~page_file() { ::close(file_); }
  page_file(const page_file&) = delete;
  page_file& operator=(const page_file&) = delete;

  int descriptor() const noexcept { return file_; }

  /// Where a new page begins. Its memory is there, so that no access to it can fail.
  std::int64_t take() {
    const std::lock_guard lock(mutex_);
    unused_.reserve(static_cast<std::size_t>(pages_) + 1);  // so that returning one allocates nothing
    const auto offset = unused_.empty() ? pages_ * page_bytes_ : unused_.back();
    if (::fallocate(file_, 0, offset, page_bytes_) != 0) throw std::bad_alloc();
    unused_.empty() ? void(++pages_) : unused_.pop_back();
    return offset;
  }

  void give_back(std::int64_t offset) noexcept {
    const std::lock_guard lock(mutex_);
    ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, page_bytes_);
    unused_.push_back(offset);
  }

 private:
  const std::int64_t page_bytes_;
  const int file_;
  std::mutex mutex_;
  std::int64_t pages_ = 0;
  std::vector<std::int64_t> unused_;  // offsets
};

struct file_page {
  explicit file_page(std::shared_ptr<page_file> owner) : file(std::move(owner)), offset(file->take()) {}
  ~file_page() { file->give_back(offset); }
  file_page(const file_page&) = delete;
  file_page& operator=(const file_page&) = delete;

  const std::shared_ptr<page_file> file;
  const std::int64_t offset;
};

class shared_pages final : public cache::virtual_memory {
 public:
  shared_pages(std::int64_t bytes, std::int64_t page_bytes)
      : page_bytes_(page_bytes), bytes_(bytes), file_(std::make_shared<page_file>(page_bytes)) {
    void* data = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, without_memory, -1, 0);
    if (data == MAP_FAILED) refuse(errno, std::to_string(bytes) + " bytes of address space");
    data_ = static_cast<std::byte*>(data);
  }
  ~shared_pages() override { ::munmap(data_, static_cast<std::size_t>(bytes_)); }
  shared_pages(const shared_pages&) = delete;
  shared_pages& operator=(const shared_pages&) = delete;

  std::int64_t page_bytes() const override { return page_bytes_; }
  at::Tensor bytes() const override { return at::from_blob(data_, {bytes_}, at::TensorOptions().dtype(at::kByte)); }
  cache::memory_page allocate() override { return std::make_shared<const file_page>(file_); }

  void map(std::int64_t first, std::span<const cache::memory_page> pages) override {
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const auto& page = *static_cast<const file_page*>(pages[i].get());
      if (::mmap(address(first + static_cast<std::int64_t>(i)), static_cast<std::size_t>(page_bytes_),
                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_->descriptor(), page.offset) != MAP_FAILED)
        continue;
      unmap(first, static_cast<std::int64_t>(i));
      throw std::bad_alloc();
    }
  }

  void unmap(std::int64_t first, std::int64_t count) noexcept override {
    if (count > 0)
      ::mmap(address(first), static_cast<std::size_t>(count * page_bytes_), PROT_NONE, without_memory | MAP_FIXED, -1,
             0);
  }

 private:
  static constexpr int without_memory = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

  std::byte* address(std::int64_t page) const { return data_ + page * page_bytes_; }

  const std::int64_t page_bytes_;
  const std::int64_t bytes_;
  const std::shared_ptr<page_file> file_;
  std::byte* data_;
};

}  // namespace

std::unique_ptr<cache::virtual_memory> make_shared_pages(std::int64_t bytes, std::int64_t page_bytes) {
  return std::make_unique<shared_pages>(bytes, page_bytes);
}

}  // namespace cogen::device
