#pragma once

#include <cstdint>
#include <string_view>

namespace cogen::json {

/// What a JSON text holds, in its order. By default every event is ignored.
class events {
 public:
  virtual ~events() = default;
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

/// Reports to `receiver` what `text` holds, without building it. `name` stands for the text in messages. Throws
/// json_error as parse() does; what an event throws comes through.
void walk(std::string_view text, std::string_view name, events& receiver);

}  // namespace cogen::json
