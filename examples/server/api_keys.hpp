#pragma once

#include "http/request.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace server {

/// Compares without telling by its time where texts of equal length differ.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

/// Who asks: the place of the request's key among the keys, from 1; 0 if there are no keys. The key is in
/// `Authorization: Bearer` or in `x-api-key`. Throws api::error, with status 401, for a wrong one.
std::uint64_t tenant_of(const http::request& request, std::span<const std::string> keys);

}  // namespace server
