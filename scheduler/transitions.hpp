#pragma once

#include "sequence.hpp"

#include <cogen/detail/scheduler/step.hpp>

#include <list>
#include <optional>

namespace cogen::scheduler {

/// The transitions of sequences that were not returned yet, oldest first. Each sequence brings its own list node, so
/// nothing here allocates.
class transitions {
 public:
  /// Gives the sequence `slot`; -1 takes its slot away. Returns the slot it had.
  int set_slot(sequence& seq, int slot) noexcept;

  /// The sequence is preempted.
  void preempt(sequence& seq) noexcept;

  std::optional<transition> next() noexcept;

  /// Drops the transitions of a sequence that ends.
  void drop(sequence& seq) noexcept;

 private:
  void note(sequence& seq) noexcept;

  std::list<sequence*> changed_;
};

}  // namespace cogen::scheduler
