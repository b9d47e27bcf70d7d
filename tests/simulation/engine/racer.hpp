#pragma once

#include "simulation/engine/client.hpp"

namespace cogen::engine_simulation {

/// The first of three streams that comes to its end wins; the others are cancelled by `||` and destroyed.
std::shared_ptr<client> stream_racer(world& stage, std::string name, net::any_io_executor where, random& chance);

/// The first of three branches of one sequence that has decoded enough wins; the others can still go on.
std::shared_ptr<client> fork_racer(world& stage, std::string name, net::any_io_executor where, random& chance);

/// Waits for a turn and for what is generated at once, again and again.
std::shared_ptr<client> turn_racer(world& stage, std::string name, net::any_io_executor where, random& chance);

}  // namespace cogen::engine_simulation
