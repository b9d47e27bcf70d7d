#pragma once

#include "formats/text/stop_matcher.hpp"
#include "sampling/sampler.hpp"

#include <cogen/extend/runner.hpp>
#include <cogen/request.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace cogen::detail {

/// What the generations of a request share once its prompt has been read.
struct prepared_request {
  /// Throws what new_tokens_after() throws, and std::invalid_argument for wrong sampling parameters and stop strings.
  prepared_request(const std::shared_ptr<const request>& request, std::size_t prompt, const engine_parts& parts,
                   int vocabulary);

  const int new_tokens;  ///< at most
  const std::vector<token> end_tokens;
  const sampler sampling;
  const text::stop_matcher stops;
};

}  // namespace cogen::detail
