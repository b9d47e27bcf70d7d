#pragma once

#include <exception>

namespace example {

/// The completion handler of a coroutine that nothing awaits: what it throws leaves the context's run().
inline constexpr auto rethrow = [](const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
};

}  // namespace example
