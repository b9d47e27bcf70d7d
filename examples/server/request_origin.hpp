#pragma once

#include "http/request.hpp"
#include "options.hpp"

namespace server {

/// Refuses what a page of another site may have a browser send. Throws api::error:
/// - 403 for a Host or an Origin that is neither the server's nor one of --allowed-hosts, where these are restricted;
///   --cors is an origin as well.
/// - 415 for a POST from a page that is not of type application/json: browsers send such without asking first.
void check_origin(const http::request& request, const options& settings);

}  // namespace server
