#pragma once

#include "settings.hpp"

#include <cogen/model.hpp>

#include <memory>

namespace cogen::bench {

/// Reads prompts that are all different, by a new engine and then again and again, and prints how fast. `products` is
/// product_rate().
void measure_prompts(const std::shared_ptr<const model>& lm, const cell& point, const settings& wanted,
                     double products);

}  // namespace cogen::bench
