#pragma once

#include "answers/response/call_writer.hpp"
#include "answers/response/delimited_text.hpp"
#include "answers/response/parameter_types.hpp"
#include "answers/response/response_syntax.hpp"

#include <memory>

namespace cogen::response {

/// Reads what follows the opening delimiter of a call, up to its end.
class call_reader {
 public:
  enum class progress : std::uint8_t {
    more,
    ended,         ///< with this byte
    ended_before,  ///< this byte
  };

  virtual ~call_reader() = default;

  virtual progress step(char byte, call_writer& calls) = 0;

  /// Hands over what surely belongs to the call.
  virtual void flush(call_writer&) {}

  /// The response ended within the call.
  virtual void finish(call_writer& calls) = 0;
};

/// Reads the end of a call, and what a malformed one holds up to there.
class call_end_reader {
 public:
  explicit call_end_reader(const delimiter& close) : close_(&close) {}

  /// After all that a call should hold. Says whether it has ended.
  bool begin(call_writer& calls);
  /// After something else, which is reported as arguments.
  void begin_malformed(std::string_view text, call_writer& calls);

  call_reader::progress step(char byte, call_writer& calls);
  void flush(call_writer& calls);
  /// The response ended before its delimiter, the beginning of which may be there.
  void finish(call_writer& calls);

 private:
  void watch();

  const delimiter* close_;
  delimited_text text_;
  bool malformed_ = false;
};

/// For a call whose opening delimiter, with what it captured, was found. The syntax and the types must outlive it.
std::unique_ptr<call_reader> make_call_reader(const call_syntax& syntax, const delimited_text::end& open,
                                              const parameter_types& types, call_writer& calls);

std::unique_ptr<call_reader> read_objects(const call_syntax& syntax);
std::unique_ptr<call_reader> read_arguments(const call_syntax& syntax);
std::unique_ptr<call_reader> read_parameters(const call_syntax& syntax, const std::string& name,
                                             const parameter_types& types);

}  // namespace cogen::response
