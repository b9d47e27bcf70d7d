#include "formats/json/events.hpp"

#include "formats/json/parse.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <string>

namespace cogen::json {
namespace {

// Passes a parser's events on, with keys and strings put together from the parts in which they come.
struct forwarding_handler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit forwarding_handler(events& target) : receiver(target) {}

  bool on_document_begin(boost::json::error_code&) { return true; }
  bool on_document_end(boost::json::error_code&) { return true; }
  bool on_object_begin(boost::json::error_code&) { return receiver.begin_object(), true; }
  bool on_object_end(std::size_t, boost::json::error_code&) { return receiver.end_object(), true; }
  bool on_array_begin(boost::json::error_code&) { return receiver.begin_array(), true; }
  bool on_array_end(std::size_t, boost::json::error_code&) { return receiver.end_array(), true; }
  bool on_key_part(boost::json::string_view part, std::size_t, boost::json::error_code&) { return add(part); }
  bool on_key(boost::json::string_view part, std::size_t, boost::json::error_code&) {
    add(part);
    receiver.key(parts);
    parts.clear();
    return true;
  }
  bool on_string_part(boost::json::string_view part, std::size_t, boost::json::error_code&) { return add(part); }
  bool on_string(boost::json::string_view part, std::size_t, boost::json::error_code&) {
    add(part);
    receiver.text(parts);
    parts.clear();
    return true;
  }
  bool on_number_part(boost::json::string_view, boost::json::error_code&) { return true; }
  bool on_int64(std::int64_t value, boost::json::string_view, boost::json::error_code&) {
    return receiver.integer(value), true;
  }
  bool on_uint64(std::uint64_t value, boost::json::string_view, boost::json::error_code&) {
    return receiver.real(static_cast<double>(value)), true;
  }
  bool on_double(double value, boost::json::string_view, boost::json::error_code&) {
    return receiver.real(value), true;
  }
  bool on_bool(bool value, boost::json::error_code&) { return receiver.boolean(value), true; }
  bool on_null(boost::json::error_code&) { return receiver.null(), true; }
  bool on_comment_part(boost::json::string_view, boost::json::error_code&) { return true; }
  bool on_comment(boost::json::string_view, boost::json::error_code&) { return true; }

  bool add(boost::json::string_view part) {
    parts.append(part.data(), part.size());
    return true;
  }

  events& receiver;
  std::string parts;
};

}  // namespace

void walk(std::string_view text, std::string_view name, events& receiver) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::basic_parser<forwarding_handler> parser(options, receiver);
  boost::json::error_code error;
  const auto read = parser.write_some(false, text.data(), text.size(), error);
  require_parsed(text, name, read, error);
}

}  // namespace cogen::json
