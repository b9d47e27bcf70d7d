#include "simulation/history.hpp"
#include "simulation/program.hpp"

int main(int count, char** arguments) {
  using namespace cogen::scheduler::simulate;
  const cogen::simulation::program<coverage> simulate{
      "simulate", "the real scheduler on a toy cache and a toy model, through random histories", actions_of, play};
  return cogen::simulation::main_of(simulate, count, arguments);
}
