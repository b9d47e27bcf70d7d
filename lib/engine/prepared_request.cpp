#include "engine/prepared_request.hpp"

#include "engine/checked_request.hpp"

namespace cogen::detail {

prepared_request::prepared_request(const std::shared_ptr<const request>& what, std::size_t prompt,
                                   const engine_parts& parts, int vocabulary)
    : new_tokens(new_tokens_after(static_cast<int>(prompt), *what, parts.limits)),
      end_tokens(end_tokens_of(*what, parts)),
      sampling(sampler::sharing({what, &what->sampling}, vocabulary, end_tokens)),
      stops(what->stop) {}

}  // namespace cogen::detail
