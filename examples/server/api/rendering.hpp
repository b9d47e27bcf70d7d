#pragma once

#include "api/generation.hpp"
#include "models.hpp"

#include <string>

namespace server::api {

/// The text of a chat by the model's template, with the beginning of an answer. Throws api::error where the template
/// refuses it, and without a template.
std::string render(const served_model& model, const cogen::request& chat);

}  // namespace server::api
