#include "answers/response/call_reader.hpp"
#include "formats/json/parse.hpp"
#include "formats/json/value_scanner.hpp"

#include <boost/json/serialize.hpp>

#include <optional>
#include <utility>

namespace cogen::response {
namespace {

using scan = cogen::json::value_scanner::progress;

std::optional<std::string> text_of(const boost::json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_number()) return boost::json::serialize(value);
  return std::nullopt;
}

bool is_object(std::string_view text) try {
  return cogen::json::parse(text, "arguments").is_object();
} catch (const std::invalid_argument&) {
  return false;
}

/// Reads `{"name": ..., "arguments": ...}`, or an array of such. Members may come in any order.
class object_reader : public call_reader {
 public:
  explicit object_reader(const call_syntax& syntax) : syntax_(&syntax), end_(syntax.close) {}

  progress step(char byte, call_writer& calls) override {
    if (place_ == place::end) return end_.step(byte, calls);
    unread_ += byte;
    if (!read(byte, calls)) {
      if (!unread_.empty()) unread_.pop_back();  // it is, where a number before the byte was reported
      place_ = place::end;
      end_.begin_malformed(held_arguments_ + unread_, calls);
      return end_.step(byte, calls);
    }
    if (place_ != place::end) return progress::more;
    return end_.begin(calls) ? progress::ended : progress::more;
  }

  void flush(call_writer& calls) override {
    if (place_ == place::end) end_.flush(calls);
  }

  void finish(call_writer& calls) override {
    if (place_ == place::end) return end_.finish(calls);
    if (place_ == place::after_item || (place_ == place::item && !calls.is_open())) return;
    calls.arguments(held_arguments_ + unread_);
    calls.end(tool_call_status::unfinished);
  }

 private:
  enum class place : std::uint8_t { start, item, key, colon, value, after_value, after_item, end };
  enum class role : std::uint8_t { name, id, arguments, other };

  /// False for what does not belong there.
  bool read(char byte, call_writer& calls) {
    if (place_ == place::key || place_ == place::value) return read_value(byte, calls);
    if (is_space(byte)) return true;
    switch (place_) {
      case place::start:
        if (byte == '[') return go_to(place::item), is_list_ = true;
        return byte == '{' && begin_object(calls);
      case place::item:
        if (byte == ']') return go_to(place::end);
        return byte == '{' && begin_object(calls);
      case place::colon:
        return byte == ':' && go_to(place::value);
      case place::after_value:
        if (byte == '}') return end_object(calls);
        return byte == ',' && go_to(place::key);
      case place::after_item:
        if (byte == ']') return go_to(place::end);
        return byte == ',' && go_to(place::item);
      default:
        return false;
    }
  }

  bool go_to(place next) {
    place_ = next;
    if (next == place::key || next == place::value) begun_ = false;
    if (next == place::item || next == place::end) unread_.clear();
    return true;
  }

  bool begin_object(call_writer& calls) {
    calls.begin();
    has_name_ = has_arguments_ = false;
    held_arguments_.clear();
    return go_to(place::key);
  }

  bool end_object(call_writer& calls) {
    if (!has_name_) return false;
    if (!has_arguments_) calls.arguments("{}");
    unread_.clear();
    if (!is_list_) return go_to(place::end);
    calls.end(tool_call_status::complete);
    return go_to(place::after_item);
  }

  bool read_value(char byte, call_writer& calls) {
    if (!begun_ && is_space(byte)) return true;
    if (!begun_ && place_ == place::key && byte == '}') return end_object(calls);
    if (!begun_ && place_ == place::key && byte != '"') return false;
    if (!begun_) streams_ = place_ == place::value && role_ == role::arguments && byte == '{';
    begun_ = true;
    switch (value_.step(byte)) {
      case scan::malformed:
        return false;
      case scan::more:
        return !streams_ || stream(byte, calls);
      case scan::ended:
        return (!streams_ || stream(byte, calls)) && take_value(calls);
      case scan::ended_before:
        return take_value(calls) && read(byte, calls);
    }
    return false;
  }

  /// Arguments before the name are held back until it comes.
  bool stream(char byte, call_writer& calls) {
    const std::string_view text(&byte, 1);
    unread_.clear();
    if (has_name_)
      calls.arguments(text);
    else
      held_arguments_ += text;
    return true;
  }

  bool take_value(call_writer& calls) {
    const auto value = value_.release();
    if (place_ == place::key) {
      role_ = role_of(value.get_string());
      return go_to(place::colon);
    }
    go_to(place::after_value);
    if (role_ == role::arguments) return take_arguments(value, calls);
    const auto text = text_of(value);
    if (role_ == role::id && text) calls.id(*text);
    return role_ != role::name || (text && take_name(*text, calls));
  }

  role role_of(std::string_view key) const {
    if (key == syntax_->name_key) return role::name;
    if (key == syntax_->id_key) return role::id;
    return key == syntax_->arguments_key || key == "arguments" || key == "parameters" ? role::arguments : role::other;
  }

  bool take_name(std::string_view name, call_writer& calls) {
    if (has_name_ || name.empty()) return false;
    has_name_ = true;
    calls.name(name);
    calls.arguments(std::exchange(held_arguments_, {}));
    unread_.clear();
    return true;
  }

  /// Some models write the object as a string, or null for none.
  bool take_arguments(const boost::json::value& value, call_writer& calls) {
    if (has_arguments_) return false;
    has_arguments_ = true;
    if (streams_) return true;
    const auto text = value.is_null() ? "{}" : text_of(value).value_or("");
    if (!is_object(text)) return false;
    for (const char byte : text) stream(byte, calls);
    return true;
  }

  const call_syntax* syntax_;
  call_end_reader end_;
  place place_ = place::start;
  role role_ = role::other;
  cogen::json::value_scanner value_;
  bool begun_ = false;    // the value has
  bool streams_ = false;  // it is arguments as they come
  bool is_list_ = false;
  bool has_name_ = false;
  bool has_arguments_ = false;
  std::string held_arguments_;
  std::string unread_;  // of the object, what was not reported
};

}  // namespace

std::unique_ptr<call_reader> read_objects(const call_syntax& syntax) { return std::make_unique<object_reader>(syntax); }

}  // namespace cogen::response
