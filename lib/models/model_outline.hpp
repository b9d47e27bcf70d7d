#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace cogen {
class model;
}

namespace cogen::models {

/// A model of a checkpoint's header alone: it has shapes and a configuration, and neither weights nor text. It cannot
/// run.
struct model_outline {
  std::shared_ptr<const model> shape;
  std::int64_t weight_bytes = 0;  ///< of all weights, as loading packs them
};

/// Throws what load_model() does, but for what only weights and tokenizer tell.
model_outline read_outline(const std::filesystem::path& path);

}  // namespace cogen::models
