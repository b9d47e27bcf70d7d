#pragma once

#include <cstddef>

/// Watches what this program asks of operator new from its construction on, in all threads.
class allocation_watch {
 public:
  allocation_watch();

  /// The largest single request so far, in bytes.
  std::size_t largest() const;
};
