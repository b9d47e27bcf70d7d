#include "models.hpp"

#include "api/error.hpp"

#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace server {

bool served_model::is_called(std::string_view other) const {
  return name == other || std::ranges::find(aliases, other) != aliases.end();
}

const cogen::text::tokenizer* served_model::tokenizer_or_null() const {
  return model->has_tokenizer() ? &model->tokenizer() : nullptr;
}

const cogen::text::tokenizer& served_model::tokenizer() const {
  if (const auto* tokens = tokenizer_or_null()) return *tokens;
  throw api::error(501, "not_supported_error", fmt::format("the model {} has no tokenizer", name), "model");
}

running_answer::running_answer(served_model& model, std::string id, const cogen::stream_group& streams,
                               std::uint64_t tenant)
    : model_(model), id_(std::move(id)), streams_(streams), tenant_(tenant) {
  model_.running.push_back(this);
}

running_answer::~running_answer() { std::erase(model_.running, this); }

const cogen::token_stream* running_answer::stream_of(std::uint64_t sequence) const {
  for (const auto& stream : streams_)
    if (stream.id() == sequence) return &stream;
  return nullptr;
}

void model_table::require_ready() const {
  if (!ready_) throw api::error(503, "unavailable_error", "Loading model", "", "loading");
}

std::shared_ptr<served_model> model_table::named(const std::optional<std::string>& name) const {
  require_ready();
  for (const auto& model : models_)
    if (!name || model->is_called(*name)) return model;
  if (models_.size() == 1) return models_.front();
  throw api::error(404, "not_found_error", fmt::format("the model \"{}\" does not exist", name->substr(0, 100)),
                   "model", "model_not_found");
}

}  // namespace server
