#include "simulation/engine/history.hpp"
#include "simulation/program.hpp"

#include <cogen/load_model.hpp>

#include <string_view>

namespace {

using namespace cogen::engine_simulation;
using program = cogen::simulation::program<coverage>;
using cogen::simulation::main_of;

int simulate_toy(int count, char** arguments) {
  const program toy{"simulate_engine",
                    "the real engine and its coroutines on a toy device, through random histories; `simulate_engine "
                    "MODEL …`: over that model",
                    [](std::uint64_t seed) { return actions_of(seed); },
                    [](const auto& script, coverage& seen, const auto& log) { play(script, seen, log); }};
  return main_of(toy, count, arguments);
}

/// Not all that a toy device can do is done by a model on the CPU.
int simulate_model(const char* folder, int count, char** arguments) {
  const auto over = cogen::load_model(folder, {.threads = 1});
  const program real{"simulate_engine MODEL", "the engine over a real model, through random histories",
                     [&](std::uint64_t seed) { return actions_of(seed, over); },
                     [&](const auto& script, coverage& seen, const auto& log) { play(script, seen, log, over); },
                     false};
  return main_of(real, count, arguments);
}

}  // namespace

int main(int count, char** arguments) {
  const bool names_model = count > 1 && !std::string_view(arguments[1]).starts_with("--");
  return names_model ? simulate_model(arguments[1], count - 1, arguments + 1) : simulate_toy(count, arguments);
}
