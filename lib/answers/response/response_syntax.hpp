#pragma once

#include "answers/response/delimiter.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::response {

struct reasoning_syntax {
  delimiter open;
  delimiter close;
};

/// What stands around the value of a parameter. `open` captures the parameter's name.
struct parameter_syntax {
  delimiter open;
  delimiter close;
};

/// What ids of calls look like.
struct call_id_syntax {
  std::string spelling = "{id}";  ///< around what an opening captures as `{name}` and `{id}`
  std::size_t length = 0;         ///< letters and digits that chat templates insist on; 0: any text
};

/// How calls are written.
struct call_syntax {
  enum class form : std::uint8_t {
    object,      ///< a JSON object of name and arguments, or an array of such objects
    arguments,   ///< `open` has the name, and the JSON object of arguments follows
    parameters,  ///< `open` has the name, and each argument is in delimiters of its own
  };

  form type = form::object;
  std::vector<delimiter> open = {};  ///< any of them; guides write the first
  delimiter close = {};              ///< empty: a call ends with its JSON
  /// Texts that surely begin calls; empty: the first text of what opens the section or the call.
  std::vector<std::string> triggers = {};
  delimiter section_open = {};  ///< around all calls; empty: nothing
  delimiter section_close = {};
  bool array = false;  ///< of an object: guides write an array
  std::string name_key = "name";
  std::string arguments_key = "arguments";
  std::string id_key = "id";
  call_id_syntax id = {};
  parameter_syntax parameter = {};
};

/// How a model writes the parts of a response. Readers and guides are made of it, so that they agree.
struct response_syntax {
  std::optional<reasoning_syntax> reasoning = {};
  std::optional<call_syntax> calls = {};
  std::vector<delimiter> around_text = {};  ///< what the text is written between
};

/// Every delimiter of a syntax.
std::vector<const delimiter*> delimiters_of(const response_syntax& syntax);

/// Whether a prompt ends within the reasoning. `ending` is what the chat template wrote after the last message.
bool ends_in_reasoning(const response_syntax& syntax, std::string_view ending);

}  // namespace cogen::response
