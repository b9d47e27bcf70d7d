#pragma once

#include <string>

namespace server::api {

/// The text, with `?` for each byte outside ASCII if it is not valid UTF-8: JSON has to be.
std::string valid_text(std::string text);

}  // namespace server::api
