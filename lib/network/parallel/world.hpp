#pragma once

#include "network/parallel/transport.hpp"

#include <memory>

namespace cogen::parallel {

/// All processes that mpirun has started this program as, over MPI; one transport for the whole program. MPI is
/// initialized at the first call, with MPI_THREAD_MULTIPLE unless the program has done so, and finalized at the end of
/// the program if this has initialized it. Throws std::invalid_argument in a build without MPI, and if the program's
/// own MPI_Init_thread() asked for less.
std::shared_ptr<transport> world();

}  // namespace cogen::parallel
