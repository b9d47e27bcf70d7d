#pragma once

#include <cogen/load_model.hpp>

#include <filesystem>
#include <memory>

namespace cogen::parallel {
class rank_group;
}

namespace cogen::nn {

/// load_model() for one rank of a group, whatever options.parallel says; for the only process if that is null.
std::shared_ptr<const model> load_rank(const std::filesystem::path& path, const load_options& options,
                                       std::shared_ptr<parallel::rank_group> ranks);

}  // namespace cogen::nn
