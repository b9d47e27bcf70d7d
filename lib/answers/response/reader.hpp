#pragma once

#include "answers/response/call_reader.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cogen::response {

/// What a piece of text adds to a response.
struct response_delta {
  std::string text = {};
  std::string reasoning = {};
  std::vector<tool_call_delta> tool_calls = {};

  bool empty() const noexcept { return text.empty() && reasoning.empty() && tool_calls.empty(); }
};

/// Takes a response apart as it arrives. What its deltas add up to does not depend on how the text is cut, and no text
/// is lost but delimiters and the white space beside them. Time is linear in the text. The syntax and the types must
/// outlive it. Not thread-safe.
class reader {
 public:
  struct options {
    bool in_reasoning = false;   ///< the prompt ends within the reasoning
    bool reads_calls = true;     ///< otherwise they are text
    bool parallel_calls = true;  ///< otherwise the first call ends the response, and the rest is dropped
  };

  reader(const response_syntax& syntax, const parameter_types& types, options settings);

  response_delta push(std::string_view text);

  /// The response has ended with this: what is held back, with calls that are not complete.
  response_delta finish(std::string_view last = {});

  bool in_reasoning() const noexcept { return place_ == place::reasoning; }

  /// Whether nothing may follow.
  bool is_over() const noexcept { return !parallel_calls_ && calls_.ended() > 0; }

 private:
  enum class place : std::uint8_t { text, reasoning, call };

  void take(std::string_view text);
  void take(char byte);
  void take_in_call(char byte);
  void go_to(place next, bool after_delimiter = true);
  void flush();
  void delimited(const delimited_text::end& end);

  const response_syntax* syntax_;
  const parameter_types* types_;
  bool reads_calls_;
  bool parallel_calls_;
  place place_ = place::text;
  delimited_text text_;
  std::unique_ptr<call_reader> call_;
  call_writer calls_;
  response_delta delta_;
};

}  // namespace cogen::response
