#pragma once

#include "backend/backend.hpp"
#include "models/model_spec.hpp"

#include <string>

namespace cogen::nn {

/// Throws std::invalid_argument, naming the first one, if the spec has parts that the backend does not run.
void refuse_what_it_lacks(const device::backend& backend, const models::model_spec& spec);

/// The same of a backend that is not at hand. Its name is for the message.
void refuse_what_it_lacks(const std::string& backend, bool runs_every_part, const models::model_spec& spec);

}  // namespace cogen::nn
