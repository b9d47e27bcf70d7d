#include "text/jinja/from_json.hpp"

#include "text/utf8.hpp"

namespace cogen::text::jinja {
namespace {

traced_text outside_text(std::string_view text) { return {repaired_utf8(text), false}; }

}  // namespace

value from_json(renderer& run, const boost::json::value& what) {
  auto level = run.enter_here();
  switch (what.kind()) {
    case boost::json::kind::null:
      return none{};
    case boost::json::kind::bool_:
      return what.get_bool();
    case boost::json::kind::int64:
      return what.get_int64();
    case boost::json::kind::uint64:
      return static_cast<double>(what.get_uint64());
    case boost::json::kind::double_:
      return what.get_double();
    case boost::json::kind::string:
      return run.make_text(outside_text(what.get_string()));
    case boost::json::kind::array:
      break;
    case boost::json::kind::object: {
      dictionary members;
      for (const auto& [key, member] : what.get_object()) {
        members.insert(run.make_text(outside_text(key)), from_json(run, member));
      }
      return run.checked(std::move(members));
    }
  }
  std::vector<value> items;
  for (const auto& item : what.get_array()) items.push_back(from_json(run, item));
  return run.make_list(std::move(items));
}

}  // namespace cogen::text::jinja
