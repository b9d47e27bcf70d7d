#pragma once

#include <cogen/request.hpp>

#include <memory>

namespace cogen::detail {

class engine_loop;

/// See engine::estimate(). Any thread, but not the engine's.
request_estimate estimate_of(const std::shared_ptr<engine_loop>& loop, const request& request);

}  // namespace cogen::detail
