#pragma once

#include "answers/response/response_syntax.hpp"

#include <cogen/tool_call.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::response {

/// Gives each call of a response an id: the one that the model wrote, if it has the form of its family and no call has
/// it yet, otherwise a random one.
class call_ids {
 public:
  explicit call_ids(call_id_syntax syntax) : syntax_(std::move(syntax)) {}

  /// Moves the id of a call to its first delta with anything else. Call it once for each delta, in order.
  void settle(tool_call_delta& delta);

 private:
  struct known_id {
    std::string written = {};
    bool given = false;
  };

  std::string id_of(const std::string& written);

  call_id_syntax syntax_;
  std::vector<known_id> calls_;
  std::set<std::string> given_;
};

/// A random id of that form.
std::string new_call_id(const call_id_syntax& syntax);

/// An id as it is, if it has that form, otherwise one that is made of it, the same each time.
std::string call_id_of(std::string_view id, const call_id_syntax& syntax);

}  // namespace cogen::response
