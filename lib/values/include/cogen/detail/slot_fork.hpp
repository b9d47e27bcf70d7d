#pragma once

namespace cogen {

/// How an empty slot of a KV cache begins: with the first `end` tokens of slot `source`, and its encoder input. It
/// reads the first `shared` of them in slot `parent`, which holds all of those itself; the others are copied.
struct slot_fork {
  int slot = -1;
  int parent = -1;  ///< -1: none. It reads in no other slot
  int shared = 0;   ///< a multiple of the cache's block, at most `end`
  int source = -1;  ///< may read in `parent` itself. Devices share its pages, whatever `shared` says
  int end = 0;

  bool copies() const noexcept { return end > shared; }
  bool operator==(const slot_fork&) const = default;
};

}  // namespace cogen
