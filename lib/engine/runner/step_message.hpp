#pragma once

#include "engine/runner/message.hpp"

#include <cogen/detail/scheduler/step.hpp>

namespace cogen::detail {

/// What other ranks need of a step to execute it: all but what belongs to sampling and to the requests.
void write_step(const scheduler::step& step, message_writer& writer);
void read_step(message_reader& reader, scheduler::step& step);

}  // namespace cogen::detail
