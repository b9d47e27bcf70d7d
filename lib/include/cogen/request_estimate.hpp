#pragma once

#include <cogen/error.hpp>

#include <cstdint>

namespace cogen {

/// What a request may come to on an engine.
struct request_estimate {
  int prompt_tokens = 0;         ///< 0 where the prompt could not be read
  int encoder_tokens = 0;        ///< read by the encoder, if there is one
  int most_tokens = 0;           ///< it may come to hold, prompt included; of one that cannot run, prompt and one more
  std::int64_t cache_bytes = 0;  ///< set aside for so many, when it gets a slot
  diagnostics why_not;           ///< why it would be refused however long it waited; empty where it would not

  /// Whether it can run, once there is room.
  bool fits() const noexcept { return !why_not; }
};

}  // namespace cogen
