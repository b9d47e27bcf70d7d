#pragma once

#include "settings.hpp"

#include <cogen/engine.hpp>
#include <cogen/model.hpp>

#include <memory>

namespace cogen::bench {

/// An engine as the command line has it. Throws std::invalid_argument where it does not fit the device.
engine make_engine(const std::shared_ptr<const model>& lm, int slots, int max_sequence_length, const settings& wanted);

/// How the requests sample: greedily, unless --lively.
sampling_params sampling_of(const settings& wanted, int request);

}  // namespace cogen::bench
