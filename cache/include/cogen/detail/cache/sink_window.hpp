#pragma once

namespace cogen::cache {

/// Attention to the first `sinks` and the last `window` tokens, in constant memory for any length (Xiao et al.,
/// StreamingLLM, arXiv:2309.17453).
struct sink_window {
  int sinks = 4;      ///< 0 to 64
  int window = 1020;  ///< at least 1
};

}  // namespace cogen::cache
