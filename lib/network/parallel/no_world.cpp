#include "network/parallel/world.hpp"

#include <stdexcept>

namespace cogen::parallel {

std::shared_ptr<transport> world() {
  throw std::invalid_argument("load_options.parallel is over 1; this build has no MPI (see CMake's option COGEN_MPI)");
}

}  // namespace cogen::parallel
