#include "answers/response/call_reader.hpp"

namespace cogen::response {

bool call_end_reader::begin(call_writer& calls) {
  if (close_->empty()) {
    if (calls.is_open()) calls.end(tool_call_status::complete);
    return true;
  }
  watch();
  return false;
}

void call_end_reader::begin_malformed(std::string_view text, call_writer& calls) {
  calls.arguments(text);
  malformed_ = true;
  watch();
}

void call_end_reader::watch() { text_.begin({close_}, !malformed_); }

call_reader::progress call_end_reader::step(char byte, call_writer& calls) {
  const auto end = text_.step(byte);
  if (!end) return call_reader::progress::more;
  flush(calls);
  if (malformed_)
    calls.end(tool_call_status::malformed);
  else if (calls.is_open())
    calls.end(tool_call_status::complete);
  return end->ends_early ? call_reader::progress::ended_before : call_reader::progress::ended;
}

void call_end_reader::flush(call_writer& calls) {
  const auto text = text_.take();
  if (text.empty()) return;
  malformed_ = true;
  calls.arguments(text);
}

void call_end_reader::finish(call_writer& calls) {
  flush(calls);
  if (malformed_) calls.arguments(text_.rest());
  if (calls.is_open()) calls.end(malformed_ ? tool_call_status::malformed : tool_call_status::complete);
}

namespace {

std::string spelled_id(const call_id_syntax& syntax, const delimited_text::end& open) {
  std::string id;
  for (std::string_view left = syntax.spelling; !left.empty();) {
    const bool is_name = left.starts_with("{name}"), is_id = left.starts_with("{id}");
    id += is_name ? open.name : is_id ? open.id : std::string(left.substr(0, 1));
    left.remove_prefix(is_name || is_id ? left.find('}') + 1 : 1);
  }
  return id;
}

}  // namespace

std::unique_ptr<call_reader> make_call_reader(const call_syntax& syntax, const delimited_text::end& open,
                                              const parameter_types& types, call_writer& calls) {
  if (syntax.type == call_syntax::form::object) return read_objects(syntax);
  calls.begin();
  calls.name(open.name);
  if (!open.id.empty()) calls.id(spelled_id(syntax.id, open));
  if (syntax.type == call_syntax::form::arguments) return read_arguments(syntax);
  return read_parameters(syntax, open.name, types);
}

}  // namespace cogen::response
