#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/pooling_spec.hpp"

#include <vector>

namespace cogen::models {

/// Whether the model scores pairs of texts: a classifier of sequences with one label. Throws load::load_error for one
/// with more.
bool classifies(const load::config_fields& fields);

/// A token's hidden state, or the mean of all, through these layers to a score.
pooling_spec scoring(pooling_spec::kind type, std::vector<dense_spec> layers);

}  // namespace cogen::models
