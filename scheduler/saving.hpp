#pragma once

#include "machine.hpp"

namespace cogen::scheduler {

/// What is kept of a sequence under its ticket, which it has.
kept_image image_of(const sequence& whose);

/// What the idle sequence has cached in its slot is copied away, and the slot stays as it is until that has ended.
kept_image copy_out(machine& all, sequence& whose);

/// The new sequence holds what it held before, with the image at hand but under no name yet. Throws where that makes no
/// sense, or does not fit.
void give_past(sequence& added, past&& before);

/// The image that a new sequence was given is kept, or forgotten where there is no room for it.
void take_in_image(machine& all, sequence& whose);

}  // namespace cogen::scheduler
