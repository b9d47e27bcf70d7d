#include "formats/text/text_budget.hpp"

#include <stdexcept>
#include <string>

namespace cogen::text {

void text_budget::refuse_bytes() const {
  throw std::runtime_error("the tokenizer makes more of a text of " + std::to_string(size_) +
                           " bytes than its limit of " + std::to_string(bytes_for_each * size_ + free_bytes) +
                           " bytes");
}

void text_budget::refuse_steps() const {
  throw std::runtime_error("the tokenizer needs more for a text of " + std::to_string(size_) +
                           " bytes than its limit of " + std::to_string(steps_for_each * size_ + free_steps) +
                           " steps");
}

}  // namespace cogen::text
