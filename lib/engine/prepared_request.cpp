#include "engine/prepared_request.hpp"

#include "engine/checked_request.hpp"
#include "engine/token_filter.hpp"

namespace cogen::detail {

prepared_request::prepared_request(const std::shared_ptr<const request>& request, std::size_t prompt,
                                   const engine_parts& parts, int vocabulary)
    : new_tokens(new_tokens_after(static_cast<int>(prompt), *request, parts.limits)),
      end_tokens(end_tokens_of(*request, parts)),
      sampling(sampler::sharing(filtered_sampling(request, prompt, parts.tokenizer.get(), vocabulary), vocabulary,
                                end_tokens)),
      stops(request->stop) {}

}  // namespace cogen::detail
