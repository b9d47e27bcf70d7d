#pragma once

#include <cogen/load_model.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace cogen {
class model;
}

namespace cogen::nn {

/// A model from a checkpoint's header only: shapes and configuration, without weights or text. It cannot run.
struct model_outline {
  std::shared_ptr<const model> shape;
  std::int64_t weight_bytes = 0;  ///< of all weights, as loaded
};

/// Of the options only multi_token_prediction counts. Throws what load_model() does, except for what only weights and
/// tokenizer show.
model_outline read_outline(const std::filesystem::path& path, const load_options& options);

}  // namespace cogen::nn
