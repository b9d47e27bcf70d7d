#include "engine/prepared_request.hpp"

#include "engine/checked_request.hpp"
#include "engine/token_filter.hpp"

namespace cogen::detail {

prepared_request::prepared_request(const std::shared_ptr<const request>& what, std::size_t prompt,
                                   const engine_parts& parts, int vocabulary)
    : new_tokens(new_tokens_after(static_cast<int>(prompt), *what, parts.limits)),
      end_tokens(end_tokens_of(*what, parts)),
      sampling(
          sampler::sharing(filtered_sampling(what, prompt, parts.tokenizer.get(), vocabulary), vocabulary, end_tokens)),
      stops(what->stop) {}

}  // namespace cogen::detail
