#pragma once

#include "sequence.hpp"

#include <cogen/scheduler/step.hpp>

#include <list>
#include <optional>

namespace cogen::scheduler {

/// The sequences whose slot has changed since that was last asked for, oldest change first. Each sequence brings its
/// own node, so nothing here needs memory.
class slot_changes {
 public:
  /// Gives the sequence `slot`; -1 takes its slot away. Returns the slot it had.
  int set(sequence& seq, int slot) noexcept;

  /// Its slot is taken away for others.
  void preempt(sequence& seq) noexcept;

  std::optional<slot_change> next() noexcept;

  /// Drops the change of a sequence that goes.
  void drop(sequence& seq) noexcept;

 private:
  void note(sequence& seq) noexcept;

  std::list<sequence*> changed_;
};

}  // namespace cogen::scheduler
