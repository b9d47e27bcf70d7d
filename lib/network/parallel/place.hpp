#pragma once

namespace cogen::parallel {

/// Of so many ranks that share some work, the one with this index.
struct place {
  int index = 0;
  int count = 1;

  bool is_first() const { return index == 0; }
  bool is_last() const { return index + 1 == count; }
};

}  // namespace cogen::parallel
