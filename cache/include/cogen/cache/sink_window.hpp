#pragma once

namespace cogen::cache {

/// Attention to the first `sinks` tokens and the last `window` ones, in constant memory however long a sequence goes on
/// (Xiao et al., StreamingLLM, arXiv:2309.17453).
struct sink_window {
  int sinks = 4;      ///< 0 to 64
  int window = 1020;  ///< at least 1
};

}  // namespace cogen::cache
