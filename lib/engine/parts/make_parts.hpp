#pragma once

#include "engine/parts/device_engine.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <memory>

namespace cogen::detail {

/// The parts of an engine for this model, wherever it is. Throws std::invalid_argument, naming option, value and limit,
/// for invalid options, or that the model's backend does not support.
engine_parts make_parts(const std::shared_ptr<const model>& model, const engine_options& options,
                        const device_switches& switches = {});

}  // namespace cogen::detail
