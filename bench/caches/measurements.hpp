#pragma once

#include "settings.hpp"

#include <cogen/model.hpp>

namespace curves {

// Each prints its figures as JSON objects, one a line, and throws what the model and the caches do.
void perplexity(const cogen::model& model, const settings& given);

/// The ids that perplexity reads, a window a line.
void print_windows(const cogen::model& model, const settings& given);

void memory(const cogen::model& model, const settings& given);
void latency(const cogen::model& model, const settings& given);
void retrieval(const cogen::model& model, const settings& given);
void endless(const cogen::model& model, const settings& given);
void free_running(const cogen::model& model, const settings& given);

}  // namespace curves
