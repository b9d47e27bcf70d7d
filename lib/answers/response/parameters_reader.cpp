#include "answers/response/call_reader.hpp"

#include <boost/json/serialize.hpp>

#include <utility>

namespace cogen::response {
namespace {

/// Text as it stands between the quotes of a JSON string.
std::string in_string(std::string_view text) {
  const auto quoted = boost::json::serialize(boost::json::string_view(text.data(), text.size()));
  return quoted.substr(1, quoted.size() - 2);
}

/// Reads arguments that have delimiters of their own, and writes them as a JSON object.
class parameters_reader : public call_reader {
 public:
  parameters_reader(const call_syntax& syntax, std::string function, const parameter_types& types)
      : syntax_(&syntax), function_(std::move(function)), types_(&types) {
    watch_next();
  }

  progress step(char byte, call_writer& calls) override {
    const auto end = text_.step(byte);
    if (!end) return progress::more;
    flush(calls);
    if (in_value_)
      end_value(calls);
    else if (end->which == 0)
      begin_value(end->name, calls);
    else
      return end_call(calls), end->ends_early ? progress::ended_before : progress::ended;
    return end->ends_early ? step(byte, calls) : progress::more;
  }

  void flush(call_writer& calls) override {
    const auto text = text_.take();
    if (text.empty()) return;
    if (in_value_ && is_text_) return calls.arguments(in_string(text));
    if (in_value_) {
      value_ += text;
      return;
    }
    malformed_ = true;
    calls.arguments(text);
  }

  void finish(call_writer& calls) override {
    flush(calls);
    const auto rest = value_ + text_.rest();
    calls.arguments(in_value_ && is_text_ ? in_string(rest) : rest);
    calls.end(tool_call_status::unfinished);
  }

 private:
  void watch_next() {
    in_value_ = false;
    text_.begin({&syntax_->parameter.open, &syntax_->close}, true);
  }

  void begin_value(std::string name, call_writer& calls) {
    parameter_ = std::move(name);
    in_value_ = true;
    is_text_ = types_->is_text(function_, parameter_);
    calls.arguments(std::exchange(is_first_, false) ? "{" : ", ");
    calls.arguments('"' + in_string(parameter_) + "\": ");
    if (is_text_) calls.arguments("\"");
    text_.begin({&syntax_->parameter.close}, true, delimited_text::blank::line_end);
  }

  void end_value(call_writer& calls) {
    calls.arguments(is_text_ ? "\"" : types_->json_of(function_, parameter_, value_));
    value_.clear();
    watch_next();
  }

  void end_call(call_writer& calls) {
    if (!malformed_) calls.arguments(is_first_ ? "{}" : "}");
    calls.end(malformed_ ? tool_call_status::malformed : tool_call_status::complete);
  }

  const call_syntax* syntax_;
  std::string function_;
  const parameter_types* types_;
  delimited_text text_;
  std::string parameter_;
  std::string value_;  // unless it is text
  bool in_value_ = false;
  bool is_text_ = false;
  bool is_first_ = true;
  bool malformed_ = false;
};

}  // namespace

std::unique_ptr<call_reader> read_parameters(const call_syntax& syntax, const std::string& name,
                                             const parameter_types& types) {
  return std::make_unique<parameters_reader>(syntax, name, types);
}

}  // namespace cogen::response
