#pragma once

#include <functional>

namespace cogen::detail {

/// Runs `work`, which does not throw, on a thread of its own, for which the end of the process waits. Throws
/// std::system_error or std::bad_alloc without a thread for it.
void run_joined(std::function<void()> work);

}  // namespace cogen::detail
