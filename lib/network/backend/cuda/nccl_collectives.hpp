#pragma once

#include "network/backend/collectives.hpp"

#include <memory>

namespace cogen::device {

/// Ranks that have a GPU each, over NCCL. Sums are gathered and added in the order of ranks, because those of NCCL
/// itself depend on how many numbers there are. All ranks call it, and wait for each other. Where another rank ends,
/// stalls or fails, what waits for it on the GPU is aborted, and failure() says why; while the ranks find each other
/// here, NCCL waits as long as it likes. Throws std::runtime_error with what NCCL says, such as of two ranks that have
/// the same GPU.
///
/// This has been compiled and has never run: there was no machine with two GPUs.
std::unique_ptr<collectives> make_nccl_collectives(int device, std::shared_ptr<parallel::rank_group> ranks);

}  // namespace cogen::device
