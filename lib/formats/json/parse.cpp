#include "formats/json/parse.hpp"

#include "formats/json/events.hpp"
#include "formats/json/printable.hpp"

#include <boost/json/parser.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cogen::json {
namespace {

class duplicate_refuser final : public events {
 public:
  explicit duplicate_refuser(std::string_view name) : name_(name) {}

  void begin_object() override { open_.emplace_back(); }
  void end_object() override { open_.pop_back(); }
  void key(std::string_view key) override {
    if (!open_.back().emplace(key).second)
      throw json_error(std::string(name_) + ": key " + in_quotes(key) + " is there twice in one object");
  }

 private:
  std::string_view name_;
  std::vector<std::set<std::string>> open_;
};

}  // namespace

void require_parsed(std::string_view text, std::string_view name, std::size_t read,
                    const boost::json::error_code& error) {
  if (error)
    throw json_error(std::string(name) + ": is not valid JSON at byte " + std::to_string(read) + ": " +
                     error.message());
  if (read != text.size())
    throw json_error(std::string(name) + ": has more after its JSON value, at byte " + std::to_string(read) + " of " +
                     std::to_string(text.size()));
}

boost::json::value parse(std::string_view text, std::string_view name, boost::json::storage_ptr memory) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::parser parser({}, options);
  parser.reset(std::move(memory));
  boost::json::error_code error;
  const auto read = parser.write_some(text.data(), text.size(), error);
  require_parsed(text, name, read, error);
  return parser.release();
}

boost::json::value parse_with_unique_keys(std::string_view text, std::string_view name) {
  duplicate_refuser refuser(name);
  walk(text, name, refuser);
  return parse(text, name);
}

}  // namespace cogen::json
