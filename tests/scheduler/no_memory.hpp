#pragma once

namespace cogen::scheduler {

/// While one of these lives, operator new throws std::bad_alloc on the thread that made it.
class no_memory {
 public:
  no_memory();
  ~no_memory();
  no_memory(const no_memory&) = delete;
};

}  // namespace cogen::scheduler
