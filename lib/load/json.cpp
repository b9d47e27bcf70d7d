#include "load/json.hpp"

#include "load/message.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>

#include <set>
#include <string>
#include <vector>

namespace cogen::load {
namespace {

namespace json = boost::json;

constexpr std::size_t deepest = 32;

// Passes a parser's events on, with keys and strings put together from the parts in which they come.
struct forwarding_handler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit forwarding_handler(json_events& receiver) : events(receiver) {}

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return events.begin_object(), true; }
  bool on_object_end(std::size_t, json::error_code&) { return events.end_object(), true; }
  bool on_array_begin(json::error_code&) { return events.begin_array(), true; }
  bool on_array_end(std::size_t, json::error_code&) { return events.end_array(), true; }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return add(part); }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    add(part);
    events.key(parts);
    parts.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return add(part); }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    add(part);
    events.text(parts);
    parts.clear();
    return true;
  }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, json::error_code&) { return events.integer(value), true; }
  bool on_uint64(std::uint64_t value, json::string_view, json::error_code&) {
    return events.real(static_cast<double>(value)), true;
  }
  bool on_double(double value, json::string_view, json::error_code&) { return events.real(value), true; }
  bool on_bool(bool value, json::error_code&) { return events.boolean(value), true; }
  bool on_null(json::error_code&) { return events.null(), true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  bool add(json::string_view part) {
    parts.append(part.data(), part.size());
    return true;
  }

  json_events& events;
  std::string parts;
};

class duplicate_refuser final : public json_events {
 public:
  explicit duplicate_refuser(std::string_view name) : name_(name) {}

  void begin_object() override { open_.emplace_back(); }
  void end_object() override { open_.pop_back(); }
  void key(std::string_view key) override {
    if (!open_.back().emplace(key).second) refuse(name_, "key {} is there twice in one object", in_quotes(key));
  }

 private:
  std::string_view name_;
  std::vector<std::set<std::string>> open_;
};

json::parse_options strict() {
  json::parse_options options;
  options.max_depth = deepest;
  return options;
}

}  // namespace

void walk_json(std::string_view text, std::string_view name, json_events& events) {
  json::basic_parser<forwarding_handler> parser(strict(), events);
  json::error_code error;
  const auto read = parser.write_some(false, text.data(), text.size(), error);
  if (error) refuse(name, "is not valid JSON at byte {}: {}", read, error.message());
  if (read != text.size()) refuse(name, "has more after its JSON value, at byte {} of {}", read, text.size());
}

json::object parse_json_object(std::string_view text, std::string_view name) {
  duplicate_refuser refuser(name);
  walk_json(text, name, refuser);
  json::error_code error;
  auto value = json::parse(json::string_view(text.data(), text.size()), error, {}, strict());
  if (error) refuse(name, "is not valid JSON: {}", error.message());
  if (!value.is_object()) refuse(name, "is no JSON object");
  return std::move(value.as_object());
}

}  // namespace cogen::load
