#pragma once

#include "http/request.hpp"
#include "options.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace server {

/// Compares without telling by its time where texts of equal length differ.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

/// Who asks: a number that stands for the request's key, whatever other keys there are, since what is stored for it
/// outlives the list of keys; 0 if there are none. The key is in `Authorization: Bearer` or in `x-api-key`. Throws
/// api::error, with status 401, for a wrong one.
std::uint64_t tenant_of(const http::request& request, std::span<const std::string> keys);

/// The key that the number of a tenant stands for. It must be one of these.
const std::string& key_of(std::uint64_t tenant, std::span<const std::string> keys);

/// Throws api::error, with status 403, unless the tenant may read what is of all keys: an operator may, and everybody
/// where there are not several keys.
void check_operator(std::uint64_t tenant, const options& settings);

}  // namespace server
