#pragma once

#include <cerrno>
#include <cstdint>
#include <linux/perf_event.h>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

/// Counts the instructions of this thread outside the kernel, where processor and kernel let it.
class instruction_counter {
 public:
  instruction_counter() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
    if (file_ < 0) why_not_ = std::generic_category().message(errno);
  }

  instruction_counter(const instruction_counter&) = delete;
  instruction_counter& operator=(const instruction_counter&) = delete;

  ~instruction_counter() {
    if (file_ >= 0) close(file_);
  }

  bool counts() const { return file_ >= 0; }
  const std::string& why_not() const { return why_not_; }

  /// So far; 0 where it does not count.
  std::uint64_t now() const {
    std::uint64_t count = 0;
    return counts() && read(file_, &count, sizeof(count)) == sizeof(count) ? count : 0;
  }

 private:
  int file_;
  std::string why_not_;
};
