#pragma once

#include <cogen/error.hpp>

#include <cstdint>

namespace cogen {

/// What a request would need of an engine.
struct request_estimate {
  int prompt_tokens = 0;         ///< 0 if the prompt could not be read
  int encoder_tokens = 0;        ///< read by the encoder, if there is one
  int most_tokens = 0;           ///< tokens it may hold, prompt included; if it cannot run, the prompt and one more
  std::int64_t cache_bytes = 0;  ///< reserved for that many tokens when it gets a slot
  diagnostics why_not;           ///< why it would always be refused; empty if it would not

  /// Whether it can run once there is room.
  bool fits() const noexcept { return !why_not; }
};

}  // namespace cogen
