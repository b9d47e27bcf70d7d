#pragma once

#include "api/answer.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <vector>

namespace server::api {

/// A choice of a chat completion.
boost::json::object chat_choice(std::size_t index, const cogen::completion& answer, bool logprobs,
                                const cogen::text::tokenizer& vocabulary);

/// The calls of a completion, in OpenAI's form.
boost::json::array calls_of(const std::vector<cogen::tool_call>& calls);

/// Writes the chunks of a chat completion's choice.
class chat_choice_writer {
 public:
  chat_choice_writer(std::size_t index, bool logprobs) : index_(index), logprobs_(logprobs) {}

  /// The choices of the chunks for a piece; often one, none where there is nothing to say yet.
  std::vector<boost::json::object> on_piece(const cogen::piece& piece, const cogen::text::tokenizer& vocabulary);
  boost::json::object on_progress();  ///< of the prompt; the chunk says how much
  std::vector<boost::json::object> on_end(cogen::finish_reason reason);

 private:
  boost::json::object choice(boost::json::object delta) const;
  void begin(std::vector<boost::json::object>& choices);
  boost::json::object delta_of(const cogen::piece& piece);
  boost::json::object call_delta(const cogen::tool_call_delta& call);

  std::size_t index_;
  bool logprobs_;
  bool begun_ = false;
  std::vector<char> calls_begun_;
};

}  // namespace server::api
