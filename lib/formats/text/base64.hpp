#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cogen::text {

/// The bytes that a text in Base64 stands for (RFC 4648, section 4); nothing if it is malformed.
std::optional<std::string> decoded_base64(std::string_view text);

}  // namespace cogen::text
