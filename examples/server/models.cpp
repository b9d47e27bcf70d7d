#include "models.hpp"

#include "api/error.hpp"

#include <fmt/format.h>

namespace server {

const cogen::text::tokenizer* served_model::tokenizer_or_null() const {
  return model->has_tokenizer() ? &model->tokenizer() : nullptr;
}

const cogen::text::tokenizer& served_model::tokenizer() const {
  if (const auto* tokens = tokenizer_or_null()) return *tokens;
  throw api::error(501, "not_supported_error", fmt::format("the model {} has no tokenizer", name), "model");
}

std::shared_ptr<served_model> model_table::named(const std::optional<std::string>& name) const {
  if (!ready_) throw api::error(503, "unavailable_error", "Loading model", "", "loading");
  for (const auto& one : models_)
    if (!name || one->name == *name) return one;
  if (models_.size() == 1) return models_.front();
  throw api::error(404, "not_found_error", fmt::format("the model \"{}\" does not exist", name->substr(0, 100)),
                   "model", "model_not_found");
}

}  // namespace server
