#pragma once

#include "golden.hpp"
#include "runs.hpp"
#include "verdict.hpp"

#include <cogen/engine_options.hpp>
#include <cogen/model.hpp>

#include <memory>

namespace cogen::golden {

/// What a device adds to a tolerance: its weights and activations are bfloat16.
constexpr float device_tolerance = 1.0F;

/// Of the engine that judge_on_device() makes; other ranks of a split model work for it.
engine_options options_on_device(const golden& reference);

/// Runs all prompts in an engine of a model that is on a device: one after the other, and together, and compares. In
/// a batch logits may be other bits there; that is reported, and no failure. If `by_hand` is given, it must say the
/// same bits as the engine, with prompts at once and in chunks.
verdict judge_on_device(std::shared_ptr<const model> model, const golden& reference, float tolerance, runner* by_hand);

}  // namespace cogen::golden
