#pragma once

#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cogen::text {

/// The variables of a chat template: `kwargs`, and `tools` unless there are none. Throws std::invalid_argument, naming
/// the member and its value, if a tool is not the JSON description of a function, and if `kwargs` holds `messages` or
/// `tools`.
boost::json::object template_variables(const boost::json::array& tools, const boost::json::object& kwargs);

/// A chat as a prompt.
struct encoded_chat {
  std::vector<token> tokens;
  std::vector<text_segment> segments = {};

  std::string text() const;    ///< that of the segments
  std::string ending() const;  ///< what the template wrote after the last message
};

/// Control tokens count where the template has written them. `continued`: the prompt ends with the last message's
/// content, see template_options. Throws template_error if the template refuses the messages or the variables, or
/// writes nothing of a message because of its role; token_limit_exceeded as encode_options::max_tokens says.
encoded_chat encode_chat(std::span<const chat_message> messages, boost::json::object variables,
                         const chat_template& chat, const tokenizer& tokens, bool continued = false,
                         std::size_t max_tokens = std::numeric_limits<std::size_t>::max());

}  // namespace cogen::text
