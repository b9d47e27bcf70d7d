#include "engine/embedding/text_state.hpp"

#include <cogen/engine.hpp>

namespace cogen {

std::shared_ptr<detail::embed_face> engine::new_embedding(const work_options& options) const {
  return std::make_shared<embedding::text_state<std::vector<float>>>(loop_, options.tenant);
}

std::shared_ptr<detail::score_face> engine::new_scoring(const work_options& options) const {
  return std::make_shared<embedding::text_state<float>>(loop_, options.tenant);
}

}  // namespace cogen
