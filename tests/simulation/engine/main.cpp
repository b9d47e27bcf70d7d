#include "simulation/engine/history.hpp"
#include "simulation/program.hpp"

int main(int count, char** arguments) {
  using namespace cogen::engine_simulation;
  const cogen::simulation::program<coverage> simulate{
      "simulate_engine", "the real engine and its coroutines on a toy device, through random histories", actions_of,
      play};
  return cogen::simulation::main_of(simulate, count, arguments);
}
