#pragma once

#include <cogen/error.hpp>

namespace cogen::detail {

/// Work that an engine's thread does beside its steps, a bounded part in each round.
class background_work {
 public:
  virtual ~background_work() = default;

  /// Does a part of it; false if there is nothing to do.
  virtual bool run() noexcept = 0;

  /// The engine has ended: nothing will run any more.
  virtual void fail(const diagnostics& why) noexcept = 0;
};

}  // namespace cogen::detail
