# MPI, which carries bytes between the processes that a model is split over. Without it a model is in one process.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI 3.0 QUIET COMPONENTS CXX)
option(COGEN_MPI "Split models over processes, with MPI" ${MPI_CXX_FOUND})
if(COGEN_MPI AND NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "COGEN_MPI=ON: MPI was not found. Debian has it as libopenmpi-dev and openmpi-bin.")
endif()
