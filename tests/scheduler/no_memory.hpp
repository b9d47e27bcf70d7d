#pragma once

namespace cogen::scheduler {

/// While this lives, operator new throws std::bad_alloc on the thread that made it, but for its first `allowed` calls.
/// One at a time on a thread.
class no_memory {
 public:
  explicit no_memory(int allowed = 0);
  ~no_memory();
  no_memory(const no_memory&) = delete;
};

}  // namespace cogen::scheduler
