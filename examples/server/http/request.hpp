#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace server::http {

using fields = std::vector<std::pair<std::string, std::string>>;

/// The head of a request.
struct request {
  std::string method = "GET";
  std::string path = "/";                                      ///< decoded, without the query
  std::map<std::string, std::string, std::less<>> query = {};  ///< decoded
  fields headers = {};                                         ///< names in lower case
  std::string authority = {};                                  ///< host and port as asked for; may be empty in HTTP/1.0
  bool keep_alive = true;
  bool chunked_answer = true;  ///< false for HTTP/1.0, where the end of a stream is the end of the connection

  /// The first header of this name, which is in lower case.
  std::optional<std::string_view> header(std::string_view name) const {
    const auto found =
        std::find_if(headers.begin(), headers.end(), [&](const auto& field) { return field.first == name; });
    if (found == headers.end()) return std::nullopt;
    return found->second;
  }
};

}  // namespace server::http
