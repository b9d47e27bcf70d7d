#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <string_view>

namespace cogen::load {

/// The events of a JSON text, in order. By default every event is ignored.
class json_events {
 public:
  virtual ~json_events() = default;
  virtual void begin_object() {}
  virtual void end_object() {}
  virtual void begin_array() {}
  virtual void end_array() {}
  virtual void key(std::string_view) {}
  virtual void text(std::string_view) {}
  virtual void integer(std::int64_t) {}
  virtual void real(double) {}  // integers beyond 64 signed bits too
  virtual void boolean(bool) {}
  virtual void null() {}
};

/// Reports the contents of `text` to `events`, without building them. `name` stands for the file in messages. Throws
/// load_error where the text is not JSON in UTF-8 or is nested more than 32 deep; what an event throws comes through.
void walk_json(std::string_view text, std::string_view name, json_events& events);

/// A JSON text that is one object. Throws load_error as walk_json() does, and where any object has a key twice.
boost::json::object parse_json_object(std::string_view text, std::string_view name);

}  // namespace cogen::load
