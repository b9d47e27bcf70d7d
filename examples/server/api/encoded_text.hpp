#pragma once

#include "api/error.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace server::api {

/// What `encode`, which calls nothing but a tokenizer, makes of a field's text. Throws api::error, with status 400 and
/// the tokenizer's message, where the text is too much for it.
template <class Encode>
auto encoded(std::string_view name, Encode encode) try {
  return encode();
} catch (const std::runtime_error& why) {
  throw invalid(std::string(name), why.what());
}

}  // namespace server::api
