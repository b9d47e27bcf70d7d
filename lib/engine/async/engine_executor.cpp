#include <cogen/detail/engine_executor.hpp>

namespace cogen::detail {

void engine_queue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  work_.reset();
  shutdown();
}

std::exception_ptr as_exception::make_exception(const diagnostics& why) noexcept try {
  return why ? std::make_exception_ptr(generation_error(why)) : nullptr;
} catch (...) {
  return std::current_exception();
}

}  // namespace cogen::detail
